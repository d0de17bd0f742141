// Custom resources in a server: the definitions are followed, and what they define is one of its sources.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { Rules } from "#schema/structural/rules.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { ServerWrites } from "../bootstrap/server-writes.ts";
import type { KindCaches } from "../served/caches.ts";
import type { RuntimeKinds } from "../served/runtime-kinds.ts";
import type { StrategyOf } from "../served/stored-resources.ts";
import type { WebhookClient } from "../webhook/client.ts";
import { customStrategy } from "./custom-strategy.ts";
import { CustomResourceDefinitions } from "./definitions.ts";
import { webhookConversion } from "./webhook-conversion.ts";

export interface CustomResourcesOptions {
  readonly caches: KindCaches;
  readonly runtimeKinds: (name: string, strategies: StrategyOf) => RuntimeKinds;
  readonly request: (request: ApiRequest) => Promise<ApiResponse>;
  readonly rules?: Rules;
  /** Calls the webhooks that convert. */
  readonly webhooks: WebhookClient;
  readonly random: Random;
  readonly clock: Clock;
  readonly log: Log;
}

/** A call ends by its own time limit: what was written or read in several versions is not left in the middle by one client that goes. */
const never = new AbortController().signal;

const refusal = "create not allowed while custom resource definition is terminating";

export function customResources(options: CustomResourcesOptions): CustomResourceDefinitions {
  const { caches, request, rules, webhooks, random, clock, log } = options;
  const strategies = (kind: AnyKind) =>
    customStrategy(kind, () => (definitions.isTerminating(kind) ? refusal : undefined));
  const definitions = new CustomResourceDefinitions({
    cacheOf: caches.cacheOf,
    runtimeKinds: options.runtimeKinds("custom-resources", strategies),
    writes: new ServerWrites(request),
    objectsOf: (kind) => caches.cacheOf(kind.convert?.to() ?? kind),
    rules,
    webhookOf: (conversion) => webhookConversion({ conversion, client: webhooks, random, signal: never }),
    clock,
    log,
  });
  return definitions;
}
