// The flags of authorization, named as upstream names them.
import { abacAuthorizer, parseAbacPolicies } from "#apiserver/authorization/abac.ts";
import { type Authorizer, allowKnown, denyAll, publicPathsFirst } from "#apiserver/authorization/authorizer.ts";
import {
  type AuthorizerSettings,
  type AuthorizerType,
  authorizerTypes,
  parseAuthorizationConfiguration,
  type WebhookSettings,
} from "#apiserver/authorization/configuration.ts";
import { matchConditionOf } from "#apiserver/authorization/match-condition.ts";
import type { AuthorizersOf, OwnAuthorizers } from "#apiserver/authorization/own-authorizers.ts";
import { webhookAuthorizer } from "#apiserver/authorization/webhook.ts";
import { kubeconfigWebhook } from "#apiserver/host/kubeconfig-webhook.ts";
import { reloadCounter } from "#apiserver/host/reload-counter.ts";
import { ReloadedFile, type ReloadOptions } from "#apiserver/host/reloaded-file.ts";
import { reviewWebhook } from "#apiserver/webhook/review.ts";
import { UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import type { FlagValues } from "#cli/flags.ts";
import { flagFile } from "#cli/host/flag-file.ts";

export const authorizationFlags = {
  "authorization-mode": {
    type: "strings",
    value: "MODES",
    help: "Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny, in the order in which they are asked; defaults to Node,RBAC",
  },
  "authorization-config": {
    type: "string",
    value: "FILE",
    help: "AuthorizationConfiguration: the same with several webhooks; read again when it changes",
  },
  "authorization-policy-file": { type: "string", value: "FILE", help: "Policies of ABAC, a line each" },
  "authorization-webhook-config-file": {
    type: "string",
    value: "FILE",
    help: "Kubeconfig of a server that reviews access, for mode Webhook",
  },
  "authorization-webhook-version": {
    type: "string",
    value: "v1|v1beta1",
    default: "v1beta1",
    help: "Version of the reviews it is sent",
  },
  "authorization-webhook-cache-authorized-ttl": {
    type: "string",
    value: "DURATION",
    default: "5m0s",
    help: "How long it is believed that something is allowed",
  },
  "authorization-webhook-cache-unauthorized-ttl": {
    type: "string",
    value: "DURATION",
    default: "30s",
    help: "How long it is believed that something is not",
  },
} as const;

type AuthorizationSettings = FlagValues<typeof authorizationFlags>;

interface AuthorizationWorld extends ReloadOptions {
  /** Where it is counted how often the configuration is read again. */
  readonly metrics?: MetricRegistry;
}

/** Reads what the flags name now, so that a mistake is found before anything is served. Throws UsageError. */
export function authorizationOf(settings: AuthorizationSettings, world: AuthorizationWorld): AuthorizersOf {
  const file = settings["authorization-config"];
  const made = new Map<WebhookSettings, Authorizer>();
  const abac = abacOf(settings);
  const authorizersOf = (list: readonly AuthorizerSettings[], own: OwnAuthorizers): readonly Authorizer[] => [
    publicPathsFirst,
    ...list.map((one) => authorizerOf(one, { own, abac, made, world })),
  ];
  if (file === undefined) {
    const list = flaggedAuthorizers(settings);
    return (own) => authorizersOf(list, own);
  }
  for (const [name, isGiven] of [
    ["authorization-mode", settings["authorization-mode"].length > 0],
    ["authorization-webhook-config-file", settings["authorization-webhook-config-file"] !== undefined],
  ] as const)
    if (isGiven) throw new UsageError(`--${name} can not be specified when --authorization-config is used`);
  const read = (text: string) => {
    const list = parseAuthorizationConfiguration(text, { compile: matchConditionOf });
    // A webhook that cannot be reached by what its file says must be found out here, not by the first request.
    for (const { webhook, name } of list) if (webhook) made.set(webhook, webhookOf(name, webhook, world));
    return list;
  };
  const configuration = opened(file, read, world);
  return (own) => {
    let known: readonly AuthorizerSettings[] | undefined;
    let current: readonly Authorizer[] = [];
    return () => {
      if (known !== configuration.value) {
        known = configuration.value;
        current = authorizersOf(known, own);
      }
      return current;
    };
  };
}

function opened<T>(file: string, read: (text: string) => T, world: AuthorizationWorld): ReloadedFile<T> {
  const { metrics, clock } = world;
  try {
    const counted = metrics && reloadCounter(metrics, "authorization", clock);
    return ReloadedFile.open(file, read, { ...world, counted });
  } catch (cause) {
    throw new Error("--authorization-config", { cause });
  }
}

/** Whether anonymous users could do everything. */
export const letsEverybodyIn = (settings: AuthorizationSettings): boolean =>
  settings["authorization-mode"].includes("AlwaysAllow");

function flaggedAuthorizers(settings: AuthorizationSettings): readonly AuthorizerSettings[] {
  const modes = settings["authorization-mode"].length > 0 ? settings["authorization-mode"] : ["Node", "RBAC"];
  const list = modes.map((mode): AuthorizerSettings => {
    const type = authorizerTypes.find((known) => known === mode);
    if (!type)
      throw new UsageError(
        `--authorization-mode: ${JSON.stringify(mode)} is not known; use ${authorizerTypes.join(", ")}`,
      );
    return type === "Webhook"
      ? { type, name: "default", webhook: flaggedWebhook(settings) }
      : { type, name: type.toLowerCase() };
  });
  const uses = (type: AuthorizerType) => list.some((one) => one.type === type);
  if (settings["authorization-policy-file"] !== undefined && !uses("ABAC"))
    throw new UsageError("cannot specify --authorization-policy-file without mode ABAC");
  if (settings["authorization-webhook-config-file"] !== undefined && !uses("Webhook"))
    throw new UsageError("cannot specify --authorization-webhook-config-file without mode Webhook");
  return list;
}

function flaggedWebhook(settings: AuthorizationSettings): WebhookSettings {
  const kubeconfig = settings["authorization-webhook-config-file"];
  if (kubeconfig === undefined)
    throw new UsageError("authorization-mode Webhook's authorization config file not passed");
  const version = settings["authorization-webhook-version"];
  if (version !== "v1" && version !== "v1beta1")
    throw new UsageError(`--authorization-webhook-version: ${JSON.stringify(version)} is neither v1 nor v1beta1`);
  const ms = (name: "authorization-webhook-cache-authorized-ttl" | "authorization-webhook-cache-unauthorized-ttl") =>
    durationFlag(name, settings[name]);
  return {
    timeoutMs: 30_000,
    allowedMs: ms("authorization-webhook-cache-authorized-ttl"),
    deniedMs: ms("authorization-webhook-cache-unauthorized-ttl"),
    version,
    onFailure: "none",
    kubeconfig,
    matchConditions: [],
  };
}

function abacOf(settings: AuthorizationSettings): Authorizer | undefined {
  const file = settings["authorization-policy-file"];
  return file === undefined
    ? undefined
    : flagFile("authorization-policy-file", file, (text) => abacAuthorizer(parseAbacPolicies(text)));
}

interface AuthorizerParts {
  readonly own: OwnAuthorizers;
  readonly abac: Authorizer | undefined;
  readonly made: Map<WebhookSettings, Authorizer>;
  readonly world: ReloadOptions;
}

function authorizerOf(
  { type, name, webhook }: AuthorizerSettings,
  { own, abac, made, world }: AuthorizerParts,
): Authorizer {
  switch (type) {
    case "Node":
      return own.node;
    case "RBAC":
      return own.rbac;
    case "AlwaysAllow":
      return allowKnown;
    case "AlwaysDeny":
      return denyAll;
    case "ABAC":
      if (!abac) throw new UsageError("authorization-mode ABAC's authorization policy file not passed");
      return abac;
    case "Webhook":
      if (!webhook) throw new Error(`the webhook ${name} has no settings`);
      return made.get(webhook) ?? webhookOf(name, webhook, world);
  }
}

function webhookOf(
  name: string,
  { kubeconfig, timeoutMs, ...settings }: WebhookSettings,
  { clock, log }: { readonly clock: ReloadOptions["clock"]; readonly log: Log },
): Authorizer {
  const { post } = kubeconfigWebhook(kubeconfig, clock);
  return webhookAuthorizer({ name, ...settings, review: reviewWebhook({ post, timeoutMs, clock }), clock, log });
}
