// Volumes that are staged on this node: once for all pods that have them, until no pod has them any more. Who has a volume is read from the
// disk, so that it does not matter which kubelet gave it.
// Upstream: pkg/volume/csi/csi_attacher.go.
import { rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import { explain } from "#base/errors.ts";
import { backoffMs } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import { TimerQueue } from "#base/timer-queue.ts";
import { type CsiVolume, uniqueNameOf } from "../../csi/csi-volume.ts";
import { WorkerPool } from "../../worker-pool.ts";
import { makeFolder } from "../volumes/files.ts";
import type { CsiContext } from "./csi-context.ts";
import { type CsiDriverConnection, isFinal } from "./csi-driver.ts";
import { nodeRpcs, type StageRequest } from "./messages.ts";
import {
  namesIn,
  readVolumeData,
  removeDataFolder,
  removeMountFolder,
  unlessMissing,
  writeVolumeData,
} from "./volume-data.ts";

/** A volume by the names that are left of it on the disk. */
export interface StagedVolume {
  readonly driver: string;
  readonly handle: string;
  /** Of a device only. */
  readonly specName?: string | undefined;
}

type StageDraft = Omit<Parameters<typeof StageRequest.encode>[0], "volumeId" | "stagingTargetPath">;

const delays = { firstMs: 500, maxMs: 122_000 };
const workers = 4;

export class StagedVolumes implements Component {
  readonly name = "staged volumes";
  readonly #context: CsiContext;
  /** Volumes that this kubelet has staged, or found to be. */
  readonly #staged = new Set<string>();
  /** Pods that want a volume, by its unique name: they may not have it yet. */
  readonly #wanted = new Map<string, Set<string>>();
  readonly #known = new Map<string, StagedVolume>();
  readonly #failures = new Map<string, number>();
  readonly #workers: WorkerPool<string>;
  readonly #timers: TimerQueue<string>;

  constructor(context: CsiContext) {
    this.#context = context;
    this.#workers = new WorkerPool({ name: this.name, count: workers, work: (key) => this.#work(key) });
    this.#timers = new TimerQueue(context.clock, (key) => this.#workers.add(key));
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#workers.run(signal);
    } finally {
      this.#timers.stop();
    }
  }

  /** From now on the volume is kept for the pod. */
  want(volume: StagedVolume, podUid: string): void {
    const key = uniqueNameOf(volume);
    this.#known.set(key, volume);
    const pods = this.#wanted.get(key) ?? new Set();
    this.#wanted.set(key, pods.add(podUid));
  }

  /** The pod wants nothing any more. */
  forget(podUid: string): void {
    for (const [key, pods] of this.#wanted) {
      if (!pods.delete(podUid)) continue;
      if (pods.size === 0) this.#wanted.delete(key);
      this.#workers.add(key);
    }
  }

  /** A pod has got rid of the volume: it is unstaged soon, unless another has it. */
  release(volume: StagedVolume): void {
    const key = uniqueNameOf(volume);
    this.#known.set(key, volume);
    this.#workers.add(key);
  }

  /** What an earlier kubelet left is in use until it is found not to be. */
  async findAll(): Promise<readonly StagedVolume[]> {
    const { paths } = this.#context;
    const staged = await paths.allStaged();
    const published = await paths.allPublished();
    return [
      ...staged.map(({ data, specName }) => ({ driver: data.driverName, handle: data.volumeHandle, specName })),
      ...published
        .filter(({ volumeLifecycleMode }) => volumeLifecycleMode !== "Ephemeral")
        .map(({ driverName, volumeHandle }) => ({ driver: driverName, handle: volumeHandle })),
    ];
  }

  /** Stages a volume, unless this kubelet has done so. The caller has the volume's turn. Returns where, or "" if there is no such step. */
  async stage(volume: CsiVolume, driver: CsiDriverConnection, draft: () => Promise<StageDraft>): Promise<string> {
    const { paths, client } = this.#context;
    if (!(await driver.can("stageUnstage", client.signal))) return "";
    const path = volume.isBlock ? paths.stagedDevice(volume.specName) : paths.staged(volume);
    const key = uniqueNameOf(volume);
    if (this.#staged.has(key)) return path;
    const rest = await draft();
    await makeFolder(path, 0o750);
    if (!volume.isBlock)
      await writeVolumeData(dirname(path), { driverName: volume.driver, volumeHandle: volume.handle });
    try {
      await driver.call(nodeRpcs.stage, { ...rest, volumeId: volume.handle, stagingTargetPath: path }, client.signal);
    } catch (error) {
      if (isFinal(error) && !volume.isBlock) await removeMountFolder(path);
      throw error;
    }
    this.#staged.add(key);
    return path;
  }

  async #work(key: string): Promise<void> {
    const { turns, client, log } = this.#context;
    const volume = this.#known.get(key);
    if (!volume) return;
    try {
      await turns.take(key, () => this.#unstage(key, volume));
      this.#failures.delete(key);
    } catch (error) {
      if (client.signal.aborted) return;
      const failures = this.#failures.get(key) ?? 0;
      if (failures === 0) log.warn("a volume is not unstaged; trying again", { volume: key, error: explain(error) });
      this.#failures.set(key, failures + 1);
      this.#timers.set(key, backoffMs(delays, failures));
    }
  }

  async #unstage(key: string, volume: StagedVolume): Promise<void> {
    const { inUse } = this.#context;
    if (this.#wanted.has(key) || (await this.#isPublished(volume))) return;
    await (volume.specName === undefined ? this.#unstageFolder(volume) : this.#unstageDevice(volume, volume.specName));
    this.#staged.delete(key);
    this.#known.delete(key);
    inUse.delete(key);
  }

  async #isPublished({ driver, handle, specName }: StagedVolume): Promise<boolean> {
    const { paths } = this.#context;
    if (specName !== undefined) return paths.hasDeviceLinks(specName);
    const published = await paths.allPublished();
    return published.some(({ driverName, volumeHandle }) => driverName === driver && volumeHandle === handle);
  }

  async #unstageFolder(volume: StagedVolume): Promise<void> {
    const { paths, drivers, client } = this.#context;
    const path = paths.staged(volume);
    if (!(await readVolumeData(dirname(path)))) return;
    const call = { volumeId: volume.handle, stagingTargetPath: path };
    await drivers.get(volume.driver).call(nodeRpcs.unstage, call, client.signal);
    await removeMountFolder(path);
  }

  async #unstageDevice({ driver, handle }: StagedVolume, specName: string): Promise<void> {
    const { paths, drivers, client } = this.#context;
    const data = paths.deviceData(specName);
    if (!(await readVolumeData(data))) return;
    const path = paths.stagedDevice(specName);
    const published = dirname(paths.publishedDevice(specName, "any"));
    if ((await namesIn(published)).length > 0) throw new Error(`a pod still has the device below ${published}`);
    const connection = drivers.get(driver);
    if (await connection.can("stageUnstage", client.signal))
      await connection.call(nodeRpcs.unstage, { volumeId: handle, stagingTargetPath: path }, client.signal);
    await unlessMissing(rmdir(path));
    await unlessMissing(rmdir(published));
    await removeDataFolder(data);
    await unlessMissing(rmdir(dirname(data)));
  }
}
