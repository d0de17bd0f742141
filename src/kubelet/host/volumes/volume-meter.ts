import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { timeOf } from "#schema/time.ts";
import { InputMissing } from "../../inputs/sources.ts";
import { fsStats, type VolumeStats } from "../../stats/summary.ts";
import { CriError } from "../cri/connection.ts";
import { fileSystem } from "../machine.ts";
import { exists } from "./files.ts";
import { folderBytes } from "./folder-bytes.ts";
import type { Volumes } from "./volumes.ts";

/** Measures the emptyDir volumes of pods, and folders of the node that claims have got. Counting a folder is expensive, so the bytes of each are cached for a few seconds. */
export class VolumeMeter {
  readonly #volumes: Volumes;
  readonly #clock: Clock;
  readonly #cache = new Map<string, { readonly at: number; readonly bytes: number }>();

  constructor(volumes: Volumes, clock: Clock) {
    this.#volumes = volumes;
    this.#clock = clock;
  }

  async of(pod: Pod): Promise<readonly { readonly volume: VolumeStats; readonly isEphemeral: boolean }[]> {
    const measured: { readonly volume: VolumeStats; readonly isEphemeral: boolean }[] = [];
    for (const { name, emptyDir } of pod.spec.volumes ?? []) {
      const folder = this.#volumes.emptyFolder(pod, name);
      if (!emptyDir || !(await exists(folder))) continue;
      const fs = await fileSystem(folder);
      const isEphemeral = !emptyDir.medium;
      const usedBytes = isEphemeral ? await this.#bytes(folder) : fs.usedBytes;
      measured.push({ volume: { ...fsStats(fs, timeOf(this.#clock.now()), usedBytes), name }, isEphemeral });
    }
    return [...measured, ...(await this.#claims(pod))];
  }

  /** As their kinds measure them: local volumes by their file system, which may hold more than them. */
  async #claims(pod: Pod): Promise<readonly { readonly volume: VolumeStats; readonly isEphemeral: boolean }[]> {
    const measured: { readonly volume: VolumeStats; readonly isEphemeral: boolean }[] = [];
    const { name: podName, namespace = "" } = pod.metadata;
    for (const volume of pod.spec.volumes ?? []) {
      const claim = volume.ephemeral ? `${podName}-${volume.name}` : volume.persistentVolumeClaim?.claimName;
      if (claim === undefined && !volume.csi) continue;
      const state = await this.#volumes.measure(pod, volume, nowhere).catch(unlessMounted);
      if (!state) continue;
      const stats = fsStats(state, timeOf(this.#clock.now()));
      const pvcRef = claim === undefined ? {} : { pvcRef: { name: claim, namespace } };
      measured.push({ volume: { ...stats, name: volume.name, ...pvcRef }, isEphemeral: false });
    }
    return measured;
  }

  async #bytes(folder: string): Promise<number> {
    const now = this.#clock.elapsed();
    for (const [path, { at }] of this.#cache) if (now - at > ttlMs) this.#cache.delete(path);
    const known = this.#cache.get(folder);
    if (known) return known.bytes;
    const bytes = await folderBytes(folder);
    this.#cache.set(folder, { at: now, bytes });
    return bytes;
  }
}

const ttlMs = 5000;
/** A volume is measured without knowing more of its pod. */
const nowhere = { podIps: [], hostIps: [], allocatable: {} };

/** A claim that has no volume yet is not measured, and one whose driver does not answer; its pod is told why. */
function unlessMounted(error: unknown): undefined {
  if (!(error instanceof InputMissing) && !(error instanceof CriError)) throw error;
}
