// What the pods of a kubelet are run with: the node they are on, and what their workers share.
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { TimerQueue } from "#base/timer-queue.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { Hooks } from "./hooks.ts";
import type { HostResource } from "./host-resource.ts";
import type { ResizeProgress } from "./pod/resize.ts";
import type { PodWorker } from "./pod-worker.ts";
import type { Probes } from "./probes/probes.ts";
import type { ContainerRuntime, Credentials } from "./runtime.ts";
import type { Semaphore } from "./semaphore.ts";

/** A node as its pods see it. */
export interface PodNode {
  readonly name: string;
  /** Acts as the node. */
  readonly client: Client;
  readonly hostIps: readonly string[];
  /** Uid of the Node object; only mirror pods need it. */
  readonly uid?: string | undefined;
  /** False for a node that is switched off: nothing is done for its pods. */
  readonly isRunning: boolean;
  /** Why the node does not admit the pod; undefined if it does. */
  admit(pod: Pod, others: readonly Pod[]): Rejection | undefined;
}

export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

export type RecordEvent = (
  about: Pod,
  type: "Normal" | "Warning",
  reason: string,
  message: string,
  container?: string,
) => void;

export interface PodsOptions {
  readonly informer: Informer<typeof Pod>;
  readonly runtime: ContainerRuntime;
  readonly probes: Probes;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly log: Log;
  readonly event: RecordEvent;
  /** Credentials for the pull of an image. */
  readonly credentials: (pod: Pod, image: string, signal: AbortSignal) => Promise<Credentials | undefined>;
  /** The node of that name, if it is one of ours. */
  readonly nodeOf: (name: string) => PodNode | undefined;
  /** What pods need on the host; released in reverse order. */
  readonly hostResources?: readonly HostResource[];
  /** How many pods get a sandbox at the same time; defaults to no limit. */
  readonly maxConcurrentStarts?: number | undefined;
}

/** What workers share. */
export interface PodsContext extends Omit<PodsOptions, "informer"> {
  readonly hostResources: readonly HostResource[];
  /** Whether any host resource has a `release`. */
  readonly hasReleasable: boolean;
  readonly timers: TimerQueue<PodWorker>;
  /** Bounds how many sandboxes are made at the same time. */
  readonly starts: Semaphore;
  /** Why the pod cannot be resized to what its spec says; undefined if it can. */
  readonly resizeRefusal: (worker: PodWorker) => ResizeProgress | undefined;
  /** Syncs the pod soon. */
  readonly wake: (worker: PodWorker) => void;
  /** Syncs the pod after a delay, since something has failed. */
  readonly retryLater: (worker: PodWorker) => void;
}
