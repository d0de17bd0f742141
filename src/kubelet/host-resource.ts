// What a pod stands on besides its containers: its volumes, its cgroup, the folder of its logs. Each is made before the pod's sandbox,
// given up when nothing of the pod runs any more, and removed when the API no longer has the pod. All of it may be repeated.
import type { Pod } from "#api/core/v1/pod.ts";

export interface HostResource {
  /** Makes it. Rejects with GroundError for what people have to know. */
  prepare?(pod: Pod, signal: AbortSignal): Promise<void>;
  /** The pod as it is by now, while it runs; must not wait. */
  keep?(pod: Pod): void;
  /** What the containers of the pod may use has changed, or is about to. */
  resize?(pod: Pod): Promise<void>;
  /** Nothing of the pod runs any more. */
  release?(pod: Pod, signal: AbortSignal): Promise<void>;
  /** The API no longer has the pod. */
  remove(podUid: string, signal: AbortSignal): Promise<void>;
  /** Uids of pods of which there is anything: what a kubelet finds when it starts. */
  pods(signal: AbortSignal): Promise<readonly string[]>;
}

/** A pod cannot be started yet; told to people as an event. */
export class HostResourceError extends Error {
  override readonly name = "GroundError";
  /** Of the event. */
  readonly reason: string;

  constructor(reason: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}
