// The flags of token authentication: OpenID Connect, a structured configuration, and a webhook.
import {
  type AnonymousSettings,
  parseAuthenticationConfiguration,
  requiredClaim,
} from "#apiserver/authentication/configuration.ts";
import { type JwtIssuer, jwtTokens } from "#apiserver/authentication/jwt/authenticator.ts";
import { expressionCompiler } from "#apiserver/authentication/jwt/expressions.ts";
import { allAlgorithms, type JwtSettings } from "#apiserver/authentication/jwt/settings.ts";
import type { TokenAuthenticator } from "#apiserver/authentication/token-authenticators.ts";
import { webhookTokens } from "#apiserver/authentication/webhook-tokens.ts";
import { RemoteIssuerKeys } from "#apiserver/host/issuer-keys.ts";
import { kubeconfigWebhook } from "#apiserver/host/kubeconfig-webhook.ts";
import { reloadCounter } from "#apiserver/host/reload-counter.ts";
import { ReloadedFile } from "#apiserver/host/reloaded-file.ts";
import { claimedIssuerOf } from "#apiserver/host/token-keys.ts";
import { reviewWebhook } from "#apiserver/webhook/review.ts";
import type { Clock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import type { FlagValues } from "#cli/flags.ts";
import { asCertificates, flagFile } from "#cli/host/flag-file.ts";

export const tokenIssuerFlags = {
  "authentication-config": {
    type: "string",
    value: "FILE",
    help: "AuthenticationConfiguration: issuers of tokens, and whether strangers are served; read again when it changes",
  },
  "oidc-issuer-url": { type: "string", value: "URL", help: "Issuer of tokens of OpenID Connect; https" },
  "oidc-client-id": { type: "string", value: "ID", help: "For whom its tokens must be" },
  "oidc-ca-file": { type: "string", value: "FILE", help: "Authority of its certificate" },
  "oidc-username-claim": { type: "string", value: "CLAIM", default: "sub", help: "Claim that names the user" },
  "oidc-username-prefix": {
    type: "string",
    value: "TEXT",
    help: "What stands before the name; defaults to the issuer and #, except of e-mail addresses; - is nothing",
  },
  "oidc-groups-claim": { type: "string", value: "CLAIM", help: "Claim that names the groups" },
  "oidc-groups-prefix": { type: "string", value: "TEXT", help: "What stands before each group" },
  "oidc-signing-algs": { type: "strings", value: "NAMES", help: "Algorithms that are taken; defaults to RS256" },
  "oidc-required-claim": { type: "strings", value: "CLAIM=VALUE", help: "What tokens must say" },
  "authentication-token-webhook-config-file": {
    type: "string",
    value: "FILE",
    help: "Kubeconfig of a server that reviews tokens",
  },
  "authentication-token-webhook-version": {
    type: "string",
    value: "v1|v1beta1",
    default: "v1beta1",
    help: "Version of the reviews it is sent",
  },
  "authentication-token-webhook-cache-ttl": {
    type: "string",
    value: "DURATION",
    default: "2m0s",
    help: "How long its answers are believed",
  },
} as const;

export type TokenIssuerSettings = FlagValues<typeof tokenIssuerFlags>;

export interface TokenIssuerWorld {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Where it is counted how often the configuration is read again. */
  readonly metrics?: MetricRegistry;
  /** Audiences that tokens must be for: the names of this server. */
  readonly audiences: readonly string[];
  /** Who issues tokens of service accounts. */
  readonly ownIssuers: readonly string[];
}

export interface TokenIssuers {
  readonly tokens: readonly TokenAuthenticator[];
  /** The setting for anonymous requests of the configuration, as it is now. */
  readonly anonymous: (() => AnonymousSettings | undefined) | undefined;
}

const webhookMs = 10_000;

/** Throws UsageError for flags that contradict each other, and an Error for files that cannot be used. */
export function tokenIssuers(settings: TokenIssuerSettings, world: TokenIssuerWorld): TokenIssuers {
  const { clock, log, audiences } = world;
  const file = settings["authentication-config"];
  const flagged = oidcSettings(settings);
  if (file !== undefined && flagged)
    throw new UsageError("--authentication-config and --oidc-* flags can not be used together");
  const structured = file === undefined ? undefined : structuredIssuers(file, world);
  const fixed = flagged ? [issuerOf(flagged, world)] : [];
  const issuers = structured ? () => structured.value.issuers : () => fixed;
  const webhook = settings["authentication-token-webhook-config-file"];
  return {
    tokens: [
      ...(structured || flagged ? [jwtTokens(issuers, claimedIssuerOf, { clock, audiences })] : []),
      ...(webhook === undefined ? [] : [webhookBy(settings, webhook, { clock, log, audiences })]),
    ],
    anonymous: structured && (() => structured.value.anonymous),
  };
}

const issuerOf = (settings: JwtSettings, { clock, log }: Pick<TokenIssuerWorld, "clock" | "log">): JwtIssuer => {
  const keys = new RemoteIssuerKeys(settings.issuer, clock, log);
  keys.begin();
  return { settings, keys };
};

function structuredIssuers(path: string, world: TokenIssuerWorld) {
  const read = (text: string) => {
    const { jwt, anonymous } = parseAuthenticationConfiguration(text, {
      expressions: expressionCompiler,
      ownIssuers: world.ownIssuers,
    });
    return { issuers: jwt.map((settings) => issuerOf(settings, world)), anonymous };
  };
  const { metrics, clock } = world;
  try {
    const counted = metrics && reloadCounter(metrics, "authentication", clock);
    return ReloadedFile.open(path, read, { ...world, counted });
  } catch (cause) {
    throw new Error("--authentication-config", { cause });
  }
}

function oidcSettings(settings: TokenIssuerSettings): JwtSettings | undefined {
  const url = settings["oidc-issuer-url"];
  const client = settings["oidc-client-id"];
  if (url === undefined && client === undefined) return undefined;
  if (!url || !client) throw new UsageError("--oidc-issuer-url and --oidc-client-id must be specified together");
  if (URL.parse(url)?.protocol !== "https:")
    throw new UsageError(`--oidc-issuer-url: ${JSON.stringify(url)} is no https URL`);
  const given = settings["oidc-signing-algs"];
  const algorithms = given.length > 0 ? given : ["RS256"];
  const unknown = algorithms.find((name) => !allAlgorithms.includes(name));
  if (unknown !== undefined)
    throw new UsageError(
      `--oidc-signing-algs: ${JSON.stringify(unknown)} is not known; use ${allAlgorithms.join(", ")}`,
    );
  const ca = settings["oidc-ca-file"];
  const claim = settings["oidc-username-claim"];
  const groups = settings["oidc-groups-claim"];
  return {
    issuer: {
      url,
      discoveryUrl: undefined,
      certificateAuthority: ca === undefined ? undefined : flagFile("oidc-ca-file", ca, asCertificates),
      audiences: [client],
    },
    algorithms,
    claimRules: settings["oidc-required-claim"].map((pair) => {
      const [name = "", ...value] = pair.split("=");
      if (name === "" || value.length === 0)
        throw new UsageError(`--oidc-required-claim: ${JSON.stringify(pair)} is not of the form CLAIM=VALUE`);
      return { refusalOf: requiredClaim(name, value.join("=")) };
    }),
    username: { type: "claim", claim, prefix: usernamePrefix(settings["oidc-username-prefix"], claim, url) },
    groups:
      groups === undefined ? undefined : { type: "claim", claim: groups, prefix: settings["oidc-groups-prefix"] ?? "" },
    uid: undefined,
    extra: [],
    userRules: [],
  };
}

function usernamePrefix(given: string | undefined, claim: string, issuer: string): string {
  if (given === "-") return "";
  return given || (claim === "email" ? "" : `${issuer}#`);
}

function webhookBy(
  settings: TokenIssuerSettings,
  file: string,
  world: Pick<TokenIssuerWorld, "clock" | "log" | "audiences">,
): TokenAuthenticator {
  const version = settings["authentication-token-webhook-version"];
  if (version !== "v1" && version !== "v1beta1")
    throw new UsageError(
      `--authentication-token-webhook-version: ${JSON.stringify(version)} is neither v1 nor v1beta1`,
    );
  const flag = "authentication-token-webhook-cache-ttl";
  const { post } = kubeconfigWebhook(file, world.clock);
  const review = reviewWebhook({ post, timeoutMs: webhookMs, clock: world.clock });
  return webhookTokens({ review, version, cacheMs: durationFlag(flag, settings[flag]), ...world });
}
