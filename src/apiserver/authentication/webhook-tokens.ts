// Asks a server whose tokens these are, by TokenReview, and believes what it says for a while. Follows
// k8s.io/apiserver/plugin/pkg/authenticator/token/webhook and pkg/authentication/token/cache upstream.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { hex } from "#base/hex.ts";
import { isObject } from "#base/is-object.ts";
import type { Log } from "#base/log.ts";
import { sha256 } from "#base/sha256.ts";
import { TtlCache } from "#client/ttl-cache.ts";
import { TokenError, type TokenOwner } from "#serving/authentication.ts";
import type { User } from "#wire/api-request.ts";
import type { ReviewWebhook } from "../webhook/review.ts";
import type { TokenAuthenticator } from "./token-authenticators.ts";

export interface WebhookTokenOptions {
  readonly review: ReviewWebhook;
  readonly version: "v1" | "v1beta1";
  /** How long an answer is believed, whether it knows the token or not. A server that does not answer is asked again. */
  readonly cacheMs: number;
  /** For whom a token is good whose server does not say. */
  readonly audiences: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

export function webhookTokens(options: WebhookTokenOptions): TokenAuthenticator {
  const answers = new TtlCache<TokenOwner | TokenError | undefined>(options.clock);
  return async (token, audiences) => {
    // By its hash: who reads the memory of this process shall not find tokens in it.
    const key = `${hex(sha256(token))} ${audiences.join(" ")}`;
    const answer = await answers
      .get(
        key,
        () => reviewed(options, token, audiences),
        () => options.cacheMs,
      )
      .catch((error: unknown) => {
        options.log.warn("the token webhook cannot be asked", { error: explain(error) });
        throw new TokenError("the token webhook cannot be asked");
      });
    if (answer instanceof TokenError) throw answer;
    return answer;
  };
}

async function reviewed(
  { review, version, audiences: implied }: WebhookTokenOptions,
  token: string,
  audiences: readonly string[],
): Promise<TokenOwner | TokenError | undefined> {
  const { status } = await review({
    kind: "TokenReview",
    apiVersion: `authentication.k8s.io/${version}`,
    metadata: {},
    spec: { token, ...(audiences.length > 0 && { audiences }) },
  });
  const said = texts(status.audiences);
  const good = (said.length > 0 ? said : implied).filter((one) => audiences.includes(one));
  if (good.length === 0) return undefined;
  if (status.authenticated !== true)
    return typeof status.error === "string" && status.error !== "" ? new TokenError(status.error) : undefined;
  const user = userIn(status.user);
  return user ? { user, audiences: good } : new TokenError("the webhook names no user");
}

function userIn(value: unknown): User | undefined {
  if (!isObject(value)) return undefined;
  const { username, uid, groups, extra } = value as Readonly<Record<string, unknown>>;
  if (typeof username !== "string" || username === "") return undefined;
  const extras = isObject(extra) ? Object.entries(extra).map(([key, values]) => [key, texts(values)]) : [];
  return {
    name: username,
    ...(typeof uid === "string" && uid !== "" && { uid }),
    groups: texts(groups),
    ...(extras.length > 0 && { extra: Object.fromEntries(extras) }),
  };
}

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
