// Priority and fairness of one server, put together.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import type { ApiRequest, ApiResponse, ResourceAddress } from "#wire/api-request.ts";
import { type InFlightLimits, usualInFlight } from "../in-flight.ts";
import type { Resources } from "../resources.ts";
import { usualRequestTimeoutMs } from "../server.ts";
import type { CacheOf } from "../watch-cache.ts";
import { FlowConfiguration } from "./configuration.ts";
import { Fairness } from "./fairness.ts";

export interface ServerFairnessOptions {
  readonly inFlight?: InFlightLimits;
  readonly requestTimeoutMs?: number;
  readonly metrics: MetricRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly resources: Resources;
  readonly cacheOf: CacheOf;
  readonly request: (request: ApiRequest) => Promise<ApiResponse>;
}

export interface ServerFairness {
  readonly fairness: Fairness;
  /** Keeps it as the objects say. */
  readonly component: Component;
}

/** The seats of a server are what it may read and write at once. */
export function serverFairness(options: ServerFairnessOptions): ServerFairness {
  const { inFlight = usualInFlight, requestTimeoutMs = usualRequestTimeoutMs, resources } = options;
  const fairness = new Fairness({
    ...options,
    requestTimeoutMs,
    seats: inFlight.reads + inFlight.writes,
    statsOf: ({ group, version, resource }: ResourceAddress) => {
      const objects = resources.find(group, version, resource)?.registry.objects;
      return objects && { ...objects.stats, isInMemory: objects.areInMemory };
    },
  });
  return { fairness, component: new FlowConfiguration({ ...options, fairness }) };
}
