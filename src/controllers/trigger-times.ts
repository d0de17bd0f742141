// When the change happened that endpoints were last written for: what the delay of the network's programming is measured from.
import type { Pod } from "#api/core/v1/pod.ts";
import type { Service } from "#api/core/v1/service.ts";
import { keyOf, type Place } from "#client/place.ts";

/** What was seen of each service when it was last reconciled. One that changes twice in between counts once. */
export class TriggerTimes {
  readonly #seen = new Map<string, ReadonlyMap<string, string>>();

  /** The earliest change since this was last asked for the service; undefined if nothing has changed that has a time. */
  next({ metadata }: Service, pods: readonly Pod[]): string | undefined {
    const key = keyOf(metadata);
    const before = this.#seen.get(key);
    const now = new Map<string, string>();
    let earliest: string | undefined;
    for (const pod of pods) {
      const time = pod.status.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
      if (!time) continue;
      const { name } = pod.metadata;
      now.set(name, time);
      if (time > (before?.get(name) ?? "") && (earliest === undefined || time < earliest)) earliest = time;
    }
    this.#seen.set(key, now);
    return before ? earliest : metadata.creationTimestamp;
  }

  forget(place: Place): void {
    this.#seen.delete(keyOf(place));
  }
}
