// Keeps the volumes of the node's pods: made before the sandbox, written again when what they show has changed or a token is due,
// gone when the pod has ended.
import type { Pod } from "#api/core/v1/pod.ts";
import { Alarm } from "#base/alarm.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import { backoffMs } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import { GroundError, type PodGround } from "./grounds.ts";
import type { AccountTokens } from "./inputs/account-tokens.ts";
import { fileReferences, isOfObjects, showsPod } from "./inputs/references.ts";
import { InputMissing, type PodPlace } from "./inputs/sources.ts";
import type { WatchedObjects } from "./inputs/watched-objects.ts";
import { Lanes } from "./lanes.ts";
import type { TellEvent } from "./pods.ts";

/** The volumes of pods as the host makes them. */
export interface PodVolumes {
  /** Rejects with VolumeFailed. */
  setUp(pod: Pod, place: PodPlace): Promise<void>;
  refresh(pod: Pod, place: PodPlace): Promise<void>;
  tearDown(podUid: string): Promise<void>;
  remove(podUid: string): Promise<void>;
  pods(): Promise<readonly string[]>;
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

export interface VolumeGroundOptions extends Omit<PodPlace, "podIps"> {
  readonly volumes: PodVolumes;
  readonly objects: WatchedObjects;
  readonly tokens: AccountTokens;
  /** Told the pods whose volumes may be made now, if they could not be before. */
  readonly changed: (podUid: string) => void;
  readonly event: TellEvent;
  readonly clock: Clock;
}

interface Kept {
  pod: Pod;
  failures: number;
}

const lanes = 4;
/** As upstream retries what failed to be mounted. */
export const mountDelays = { firstMs: 500, maxMs: 122_000 };

export class VolumeGround implements PodGround, Component {
  readonly name = "volumes";
  readonly #options: VolumeGroundOptions;
  readonly #place: PodPlace;
  /** Pods with files of objects, by uid. */
  readonly #kept = new Map<string, Kept>();
  readonly #lanes: Lanes<Kept>;
  readonly #alarm: Alarm<Kept>;

  constructor(options: VolumeGroundOptions) {
    this.#options = options;
    this.#place = { hostIps: options.hostIps, allocatable: options.allocatable, podIps: [] };
    this.#lanes = new Lanes({ name: this.name, count: lanes, work: (kept) => this.#refresh(kept) });
    this.#alarm = new Alarm(options.clock, (kept) => this.#lanes.add(kept));
    options.objects.changed = (uid) => this.#changed(uid);
  }

  async prepare(pod: Pod): Promise<void> {
    const kept = this.#note(pod);
    try {
      await this.#options.volumes.setUp(pod, this.#place);
    } catch (error) {
      throw failedMount(error);
    }
    if (kept) this.#arm(kept);
  }

  keep(pod: Pod): void {
    const before = this.#kept.get(pod.metadata.uid ?? "");
    if (before?.pod === pod) return;
    const old = before?.pod;
    const kept = this.#note(pod);
    if (!kept) return;
    // One that is not known yet runs since before this kubelet did: nobody knows what has changed meanwhile.
    if (!old || (showsItself(pod) && !isShownAlike(old, pod))) this.#lanes.add(kept);
  }

  async release({ metadata }: Pod): Promise<void> {
    const uid = metadata.uid ?? "";
    this.#forget(uid);
    await this.#options.volumes.tearDown(uid);
  }

  async remove(podUid: string): Promise<void> {
    this.#forget(podUid);
    await this.#options.volumes.remove(podUid);
  }

  pods(): Promise<readonly string[]> {
    return this.#options.volumes.pods();
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#lanes.run(signal);
    } finally {
      this.#alarm.stop();
    }
  }

  /** Undefined for a pod whose volumes never change. */
  #note(pod: Pod): Kept | undefined {
    if (!pod.spec.volumes?.some(isOfObjects)) return undefined;
    const uid = pod.metadata.uid ?? "";
    const kept = this.#kept.get(uid) ?? { pod, failures: 0 };
    kept.pod = pod;
    this.#kept.set(uid, kept);
    this.#options.objects.hold(uid, fileReferences(pod));
    return kept;
  }

  #forget(uid: string): void {
    const { objects, tokens } = this.#options;
    const kept = this.#kept.get(uid);
    if (kept) {
      this.#alarm.delete(kept);
      this.#lanes.delete(kept);
    }
    this.#kept.delete(uid);
    objects.release(uid);
    tokens.forget(uid);
  }

  #changed(uid: string): void {
    const kept = this.#kept.get(uid);
    if (!kept) return;
    this.#lanes.add(kept);
    this.#options.changed(uid);
  }

  async #refresh(kept: Kept): Promise<void> {
    const { volumes, event } = this.#options;
    const { pod } = kept;
    try {
      await volumes.refresh(pod, this.#place);
      kept.failures = 0;
      this.#arm(kept);
    } catch (error) {
      if (this.#isKept(kept)) {
        const { reason, message } = failedMount(error);
        if (kept.failures === 0) event(pod, "Warning", reason, message);
        this.#alarm.set(kept, backoffMs(mountDelays, kept.failures++));
      }
    }
    // A pod that ended meanwhile must not keep what was written for it. What stays now goes with the pod.
    if (!this.#isKept(kept)) await volumes.tearDown(pod.metadata.uid ?? "").catch(() => undefined);
  }

  #isKept(kept: Kept): boolean {
    return this.#kept.get(kept.pod.metadata.uid ?? "") === kept;
  }

  #arm(kept: Kept): void {
    const { tokens, clock } = this.#options;
    if (this.#isKept(kept)) this.#alarm.set(kept, tokens.dueAt(kept.pod.metadata.uid ?? "") - clock.now());
  }
}

const showsItself = ({ spec }: Pod): boolean => spec.volumes?.some(showsPod) === true;

const isShownAlike = (a: Pod, b: Pod): boolean =>
  equal(a.metadata.labels, b.metadata.labels) &&
  equal(a.metadata.annotations, b.metadata.annotations) &&
  equal(a.spec.containers, b.spec.containers);

/** As upstream tells it, by whether a claim or the volume itself was the trouble. */
export function failedMount(error: unknown): GroundError {
  if (!(error instanceof VolumeFailed)) return new GroundError("FailedMount", explain(error), error);
  const { volume, cause } = error;
  const why = explain(cause);
  return cause instanceof ClaimFailed
    ? new GroundError(
        "FailedMount",
        `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]: ${why}`,
        error,
      )
    : new GroundError("FailedMount", `MountVolume.SetUp failed for volume ${JSON.stringify(volume)} : ${why}`, error);
}
