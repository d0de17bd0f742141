// The time of the change that caused the last write of endpoints. Proxies measure their network programming latency from it.
// Upstream: staging/src/k8s.io/endpointslice/util/trigger_time_tracker.go.

import type { Pod } from "#api/core/v1/pod.ts";
import type { Service } from "#api/core/v1/service.ts";
import { keyOf, type ObjectKey } from "#client/object-key.ts";
import { conditionIn } from "#rules/conditions.ts";

/** The state of each service at its last reconcile. Of two changes between two reconciles only one is seen. */
export class TriggerTimes {
  /** By service, and then by pod: since when the pod is as ready as it is. */
  readonly #seen = new Map<string, Map<string, string>>();

  /** The earliest change since the last call for the service; undefined if nothing with a timestamp has changed. */
  next({ metadata }: Service, pods: readonly Pod[]): string | undefined {
    const key = keyOf(metadata);
    const before = this.#seen.get(key);
    const times = before ?? new Map<string, string>();
    this.#seen.set(key, times);
    let earliest: string | undefined;
    for (const {
      metadata: { name },
      status,
    } of pods) {
      const time = conditionIn(status.conditions, "Ready")?.lastTransitionTime;
      const known = times.get(name);
      if (!time || time === known) continue;
      times.set(name, time);
      if (time > (known ?? "") && (earliest === undefined || time < earliest)) earliest = time;
    }
    if (times.size > pods.length) forgetOthers(times, pods);
    return before ? earliest : metadata.creationTimestamp;
  }

  forget(place: ObjectKey): void {
    this.#seen.delete(keyOf(place));
  }
}

function forgetOthers(times: Map<string, string>, pods: readonly Pod[]): void {
  const present = new Set(pods.map(({ metadata }) => metadata.name));
  for (const name of times.keys()) if (!present.has(name)) times.delete(name);
}
