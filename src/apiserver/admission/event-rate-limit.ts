// Upstream: plugin/pkg/admission/eventratelimit/admission.go.
import { Event } from "#api/core/v1/event.ts";
import { Event as EventsEvent } from "#api/events/v1/event.ts";
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { ApiObject } from "#schema/object.ts";
import { type AdmissionPlugin, type AdmissionRequest, admissionPlugin, joined } from "./plugin.ts";

export interface EventLimit {
  readonly type: "Server" | "Namespace" | "User" | "SourceAndObject";
  /** Events a second that are let through for each key, and as many at once. */
  readonly qps: number;
  readonly burst: number;
  /** For how many keys this is remembered. */
  readonly cacheSize?: number;
}

const usualCacheSize = 4096;

/** Events are the one thing that many write without need: who writes too many is told to wait. */
export function eventRateLimit(limits: readonly EventLimit[]): AdmissionPlugin {
  const enforcers = limits.map((limit) => ({ limit, buckets: new Map<string, Bucket>() }));
  return admissionPlugin({
    name: "EventRateLimit",
    on: { verbs: ["create", "update"], through: ["*"] },
    validate(asked) {
      if ((asked.kind !== Event && asked.kind !== EventsEvent) || asked.dryRun) return undefined;
      const reached = enforcers.flatMap(({ limit, buckets }) => {
        const key = keyOf(limit, asked);
        return take(buckets, key, limit, asked.server.clock)
          ? []
          : [`limit reached on type ${limit.type} for key ${key}`];
      });
      const message = joined(reached);
      if (message !== undefined)
        throw new ApiError({ code: 429, reason: "TooManyRequests", message, details: { retryAfterSeconds: 1 } });
      return undefined;
    },
  });
}

function keyOf({ type }: EventLimit, { namespace, user, object }: AdmissionRequest<ApiObject, unknown>): string {
  switch (type) {
    case "Server":
      return "";
    case "Namespace":
      return namespace;
    case "User":
      return user.name;
    case "SourceAndObject": {
      const source = object.source ?? object.deprecatedSource ?? {};
      const about = object.involvedObject ?? object.regarding ?? {};
      const { kind, namespace: place, name, uid, apiVersion } = about;
      return [source.component, source.host, kind, place, name, uid, apiVersion].map((part) => part ?? "").join("");
    }
  }
}

/** A bucket of places that fills again with time. */
interface Bucket {
  readonly places: number;
  readonly at: number;
}

/** Takes a place if there is one. Buckets are kept in the order of their last use, so that the first is the one to forget. */
function take(buckets: Map<string, Bucket>, key: string, { qps, burst, cacheSize }: EventLimit, clock: Clock): boolean {
  const now = clock.elapsed();
  const { places, at } = buckets.get(key) ?? { places: burst, at: now };
  const present = Math.min(burst, places + ((now - at) / 1000) * qps);
  const isFree = present >= 1;
  buckets.delete(key);
  buckets.set(key, { places: isFree ? present - 1 : present, at: now });
  const [oldest] = buckets.keys();
  if (oldest !== undefined && buckets.size > (cacheSize || usualCacheSize)) buckets.delete(oldest);
  return isFree;
}
