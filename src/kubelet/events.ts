// Events about pods, written as a kubelet, with its rate limit.
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import type { EventRecorder } from "#client/events.ts";
import { fieldPathOf } from "./pod/containers.ts";
import type { RecordEvent } from "./pods-context.ts";

export interface EventRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** As upstream's eventRecordQPS and eventBurst. */
export const kubeletEventRate: EventRate = { perSecond: 50, burst: 100 };

/** A token bucket. Events beyond the rate are dropped, as upstream's are. */
export function podEvents(recorder: EventRecorder, clock: Clock, { perSecond, burst }: EventRate): RecordEvent {
  let tokens = burst;
  let at = clock.elapsed();
  return (about: Pod, type, reason, message, container) => {
    const now = clock.elapsed();
    tokens = Math.min(burst, tokens + ((now - at) * perSecond) / 1000);
    at = now;
    if (tokens < 1) return;
    tokens--;
    const host = about.spec.nodeName;
    recorder.record(about, {
      type,
      reason,
      message,
      component: "kubelet",
      ...(host !== undefined && { host }),
      ...(container !== undefined && { fieldPath: fieldPathOf(about.spec, container) }),
    });
  };
}
