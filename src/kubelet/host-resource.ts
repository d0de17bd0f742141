// Something that a pod needs on its host besides containers: its volumes, its cgroup, the folder of its logs. Each is prepared before the
// pod's sandbox, released when nothing of the pod runs any more, and removed when the API no longer has the pod. All methods are idempotent.
import type { Container } from "#api/core/v1/container.ts";
import type { ResourceStatus } from "#api/core/v1/container-status.ts";
import type { Pod } from "#api/core/v1/pod.ts";

export interface HostResource {
  /** Makes the resource. Rejects with HostResourceError for what is to be shown as an event. */
  prepare?(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Called with the current pod at each sync while it runs; must not block. */
  update?(pod: Pod): void;
  /** The resources of the pod's containers have changed, or are about to. */
  resize?(pod: Pod): Promise<void>;
  /** Nothing of the pod runs any more. */
  release?(pod: Pod, signal: AbortSignal): Promise<void>;
  /** The API no longer has the pod. */
  remove(podUid: string, signal: AbortSignal): Promise<void>;
  /** Uids of pods that have this resource on the host, as a kubelet finds them when it starts. */
  pods(signal: AbortSignal): Promise<readonly string[]>;
  /** How the devices are that it has given to a container. */
  deviceHealth?(pod: Pod, container: Container): readonly ResourceStatus[];
  /** Calls back with the uid of each pod that has a device whose health has changed. */
  onHealthChange?(listener: (podUid: string) => void): void;
}

/** Keeps a pod from starting, and is shown as an event with this reason. */
export class HostResourceError extends Error {
  override readonly name = "GroundError";
  /** Of the event; empty if there is none, since all it takes is time. */
  readonly reason: string;

  constructor(reason: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}
