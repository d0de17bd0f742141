// The life of pods' volumes: made before the sandbox, written again when an object has changed or a token is due for renewal,
// removed when the pod has ended.
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import { backoffMs } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import { TimerQueue } from "#base/timer-queue.ts";
import { type HostResource, HostResourceError } from "./host-resource.ts";
import type { AccountTokens } from "./inputs/account-tokens.ts";
import { fileReferences, isMadeOfObjects, showsPod } from "./inputs/references.ts";
import { InputMissing, type PodContext } from "./inputs/sources.ts";
import type { InputWatches } from "./inputs/watched-objects.ts";
import type { RecordEvent } from "./pods-context.ts";
import { WorkerPool } from "./worker-pool.ts";

/** The volumes of pods as the host makes them. */
export interface PodVolumes {
  /** Rejects with VolumeFailed. */
  setUp(pod: Pod, context: PodContext): Promise<void>;
  /** Resolves with the milliseconds until the volumes want to be looked at again; Infinity for never. */
  refresh(pod: Pod, context: PodContext): Promise<number>;
  tearDown(podUid: string): Promise<void>;
  remove(podUid: string): Promise<void>;
  pods(): Promise<readonly string[]>;
  /** When a pod's volumes are looked at for the first time after they were made; defaults to a minute. */
  readonly firstRefreshMs?: number | undefined;
  /** Called with each pod whose volumes may be there now. */
  changed?: (podUid: string) => void;
  /** Tells a pod of something. */
  event?: RecordEvent;
}

/** A volume that could not be made, and why. */
export class VolumeFailed extends InputMissing {
  override readonly name: string = "VolumeFailed";
  readonly volume: string;

  constructor(volume: string, cause: unknown) {
    super(`volume ${JSON.stringify(volume)} cannot be mounted`, { cause });
    this.volume = volume;
  }
}

/** The claim of a pod that has got no volume it could use. */
export class ClaimFailed extends InputMissing {
  override readonly name: string = "ClaimFailed";
}

/** A volume that somebody else is about to attach to this node. */
export class NotAttached extends InputMissing {
  override readonly name: string = "NotAttached";
}

export interface VolumeLifecycleOptions extends Omit<PodContext, "podIps"> {
  readonly volumes: PodVolumes;
  readonly objects: InputWatches;
  readonly tokens: AccountTokens;
  /** Called with each pod whose missing objects may have come. */
  readonly changed: (podUid: string) => void;
  readonly event: RecordEvent;
  readonly clock: Clock;
}

interface TrackedPod {
  pod: Pod;
  failures: number;
}

const workers = 4;
/** Whether volumes of claims want to be looked at is found out at the first look. */
const defaultRefreshMs = 60_000;
/** As upstream retries what failed to be mounted. */
export const mountDelays = { firstMs: 500, maxMs: 122_000 };

export class VolumeLifecycle implements HostResource, Component {
  readonly name = "volumes";
  readonly #options: VolumeLifecycleOptions;
  readonly #podContext: PodContext;
  /** Pods whose volumes are made of objects, by uid. */
  readonly #tracked = new Map<string, TrackedPod>();
  readonly #workers: WorkerPool<TrackedPod>;
  readonly #timers: TimerQueue<TrackedPod>;

  constructor(options: VolumeLifecycleOptions) {
    this.#options = options;
    this.#podContext = { hostIps: options.hostIps, allocatable: options.allocatable, podIps: [] };
    this.#workers = new WorkerPool({ name: this.name, count: workers, work: (tracked) => this.#refresh(tracked) });
    this.#timers = new TimerQueue(options.clock, (tracked) => this.#workers.add(tracked));
    options.objects.changed = (uid) => this.#changed(uid);
    options.volumes.changed = (uid) => options.changed(uid);
    options.volumes.event = options.event;
  }

  async prepare(pod: Pod): Promise<void> {
    const tracked = this.#track(pod);
    try {
      await this.#options.volumes.setUp(pod, this.#podContext);
    } catch (error) {
      throw failedMount(error);
    }
    const { firstRefreshMs = defaultRefreshMs } = this.#options.volumes;
    if (tracked) this.#scheduleRefresh(tracked, hasClaims(pod) ? firstRefreshMs : Number.POSITIVE_INFINITY);
  }

  update(pod: Pod): void {
    const before = this.#tracked.get(pod.metadata.uid ?? "");
    if (before?.pod === pod) return;
    const old = before?.pod;
    const tracked = this.#track(pod);
    if (!tracked) return;
    // A pod that is not tracked yet has run since before this kubelet: its objects may have changed meanwhile.
    if (!old || (hasDownwardFiles(pod) && !hasSameFields(old, pod))) this.#workers.add(tracked);
  }

  async release({ metadata }: Pod): Promise<void> {
    const uid = metadata.uid ?? "";
    this.#untrack(uid);
    await this.#options.volumes.tearDown(uid);
  }

  async remove(podUid: string): Promise<void> {
    this.#untrack(podUid);
    await this.#options.volumes.remove(podUid);
  }

  pods(): Promise<readonly string[]> {
    return this.#options.volumes.pods();
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#workers.run(signal);
    } finally {
      this.#timers.stop();
    }
  }

  /** Undefined for a pod whose volumes never change. */
  #track(pod: Pod): TrackedPod | undefined {
    if (!pod.spec.volumes?.some(isMadeOfObjects) && !hasClaims(pod)) return undefined;
    const uid = pod.metadata.uid ?? "";
    const tracked = this.#tracked.get(uid) ?? { pod, failures: 0 };
    tracked.pod = pod;
    this.#tracked.set(uid, tracked);
    this.#options.objects.retain(uid, fileReferences(pod));
    return tracked;
  }

  #untrack(uid: string): void {
    const { objects, tokens } = this.#options;
    const tracked = this.#tracked.get(uid);
    if (tracked) {
      this.#timers.delete(tracked);
      this.#workers.delete(tracked);
    }
    this.#tracked.delete(uid);
    objects.release(uid);
    tokens.forget(uid);
  }

  #changed(uid: string): void {
    const tracked = this.#tracked.get(uid);
    if (!tracked) return;
    this.#workers.add(tracked);
    this.#options.changed(uid);
  }

  async #refresh(tracked: TrackedPod): Promise<void> {
    const { volumes, event } = this.#options;
    const { pod } = tracked;
    try {
      const nextMs = await volumes.refresh(pod, this.#podContext);
      tracked.failures = 0;
      this.#scheduleRefresh(tracked, nextMs);
    } catch (error) {
      if (this.#isTracked(tracked)) {
        const { reason, message } = failedMount(error);
        if (tracked.failures === 0 && !isQuiet(error)) event(pod, "Warning", reason, message);
        this.#timers.set(tracked, backoffMs(mountDelays, tracked.failures++));
      }
    }
    // A pod that was released during the refresh must not keep its files. If this fails, they are removed with the pod.
    if (!this.#isTracked(tracked)) await volumes.tearDown(pod.metadata.uid ?? "").catch(() => undefined);
  }

  #isTracked(tracked: TrackedPod): boolean {
    return this.#tracked.get(tracked.pod.metadata.uid ?? "") === tracked;
  }

  #scheduleRefresh(tracked: TrackedPod, withinMs: number): void {
    const { tokens, clock } = this.#options;
    if (!this.#isTracked(tracked)) return;
    this.#timers.set(tracked, Math.min(tokens.dueAt(tracked.pod.metadata.uid ?? "") - clock.now(), withinMs));
  }
}

/** Volumes that others than the kubelet provide: they may have to be published again, or to be made larger. */
const hasClaims = ({ spec }: Pod): boolean =>
  spec.volumes?.some(({ persistentVolumeClaim, ephemeral, csi }) => persistentVolumeClaim ?? ephemeral ?? csi) === true;

/** What is only a matter of time is not told. */
const isQuiet = (error: unknown): boolean => error instanceof VolumeFailed && error.cause instanceof NotAttached;

const hasDownwardFiles = ({ spec }: Pod): boolean => spec.volumes?.some(showsPod) === true;

const hasSameFields = (a: Pod, b: Pod): boolean =>
  equal(a.metadata.labels, b.metadata.labels) &&
  equal(a.metadata.annotations, b.metadata.annotations) &&
  equal(a.spec.containers, b.spec.containers);

/** Upstream's messages, which differ for claims and volumes. */
export function failedMount(error: unknown): HostResourceError {
  if (!(error instanceof VolumeFailed)) return new HostResourceError("FailedMount", explain(error), error);
  const { volume, cause } = error;
  const why = explain(cause);
  if (isQuiet(error)) return new HostResourceError("", why, error);
  return cause instanceof ClaimFailed
    ? new HostResourceError(
        "FailedMount",
        `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]: ${why}`,
        error,
      )
    : new HostResourceError(
        "FailedMount",
        `MountVolume.SetUp failed for volume ${JSON.stringify(volume)} : ${why}`,
        error,
      );
}
