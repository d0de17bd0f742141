// Volumes of storage drivers. A driver stages a volume for the node and publishes it for each pod; both are asked of it again and again
// until they succeed, by this kubelet or the next. Notes on the disk are written before a driver is asked, and removed after it has taken
// the volume back: so at any moment the disk names every volume that a driver may have mounted.
// Upstream: pkg/volume/csi/csi_mounter.go.
import { join } from "node:path";
import type { Pod } from "#api/core/v1/pod.ts";
import {
  attachmentOf,
  type CsiVolume,
  capabilityOf,
  csiVolumeOf,
  givesToGroup,
  modeProblem,
  uniqueNameOf,
} from "../../csi/csi-volume.ts";
import { InputMissing } from "../../inputs/sources.ts";
import type { FileSystemState } from "../../node/pressure.ts";
import { CriError, rpcText } from "../cri/connection.ts";
import { isMounted } from "../volumes/mounts.ts";
import { giveToGroup } from "../volumes/ownership.ts";
import type { DeviceRequest, VolumeKind, VolumeRequest } from "../volumes/volume-kind.ts";
import { publishContext, publishInputs, secretTexts } from "./call-inputs.ts";
import type { CsiContext } from "./csi-context.ts";
import { CsiDevices } from "./csi-devices.ts";
import type { CsiDriverConnection } from "./csi-driver.ts";
import { expandIfWanted } from "./csi-expansion.ts";
import { nodeRpcs } from "./messages.ts";
import type { StagedVolumes } from "./staged-volumes.ts";
import { csiFolder, readVolumeData, removeMountFolder, writeVolumeData } from "./volume-data.ts";
import { usageOf } from "./volume-usage.ts";

/** A pod's volumes are looked at as often as upstream syncs a pod. */
const refreshMs = 60_000;

export class CsiVolumes implements VolumeKind {
  readonly folderName = csiFolder;
  readonly keptIn = "disk";
  readonly #context: CsiContext;
  readonly #staged: StagedVolumes;
  readonly #devices: CsiDevices;
  readonly #refreshMs: number;
  /** Pods that wait for a driver to come, or a volume to be attached. */
  readonly #waiting = new Set<string>();
  /** Called with each pod that need not wait any more. */
  changed: (podUid: string) => void = () => undefined;

  constructor(context: CsiContext, staged: StagedVolumes, options: { readonly refreshMs?: number | undefined } = {}) {
    this.#context = context;
    this.#staged = staged;
    this.#devices = new CsiDevices(context, staged);
    this.#refreshMs = options.refreshMs ?? refreshMs;
  }

  supports({ volume, persistentVolume }: Pick<VolumeRequest, "volume" | "persistentVolume">): boolean {
    return volume.csi !== undefined || persistentVolume?.spec.csi !== undefined;
  }

  async provide(request: VolumeRequest): Promise<string> {
    const { folder, pod } = request;
    const path = join(folder, "mount");
    if (isMounted(path)) return path;
    const volume = volumeOf(request);
    await this.#asWanted(volume, pod, () => this.#mount(volume, request, path));
    return path;
  }

  async publish(path: string, request: VolumeRequest): Promise<void> {
    const { pod } = request;
    const volume = volumeOf(request);
    const { described, client, drivers } = this.#context;
    const driver = drivers.get(volume.driver);
    if (await driver.can("volumeMountGroup", client.signal)) return;
    if (givesToGroup(volume, await described(volume.driver))) await giveToGroup(path, pod, "rw");
  }

  async unpublish(folder: string): Promise<void> {
    const { turns, drivers, client } = this.#context;
    const data = await readVolumeData(folder);
    if (!data) return;
    const volume = { driver: data.driverName, handle: data.volumeHandle };
    const targetPath = join(folder, "mount");
    await turns.take(uniqueNameOf(volume), async () => {
      const call = { volumeId: volume.handle, targetPath };
      await drivers.get(volume.driver).call(nodeRpcs.unpublish, call, client.signal);
      await removeMountFolder(targetPath);
    });
    if (data.volumeLifecycleMode !== "Ephemeral") this.#staged.release(volume);
  }

  provideDevice(request: DeviceRequest): Promise<string> {
    const volume = volumeOf(request);
    return this.#asWanted(volume, request.pod, () => this.#devices.map(volume, request));
  }

  unpublishDevice(link: string): Promise<void> {
    return this.#devices.unmap(link);
  }

  /** The pod has no volumes any more. */
  forget(podUid: string): void {
    this.#waiting.delete(podUid);
    this.#staged.forget(podUid);
  }

  async refresh(request: VolumeRequest): Promise<number> {
    const volume = volumeOf(request);
    const { turns, described, client, drivers } = this.#context;
    if (!drivers.names.includes(volume.driver)) return this.#refreshMs; // it may come back
    const driver = await described(volume.driver);
    const isRepublished = driver?.spec.requiresRepublish === true && !volume.isBlock;
    const path = join(request.folder, "mount");
    if (volume.mode === "Persistent") this.#staged.want(stagedOf(volume), request.pod.metadata.uid ?? "");
    if (isRepublished) await this.#asWanted(volume, request.pod, () => this.#mount(volume, request, path));
    if (volume.mode === "Ephemeral") return isRepublished ? this.#refreshMs : Number.POSITIVE_INFINITY;
    const connection = drivers.get(volume.driver);
    const canGrow = await connection.can("expand", client.signal);
    if (canGrow)
      await turns.take(uniqueNameOf(volume), () =>
        expandIfWanted({ volume, request, driver: connection, path: this.#pathOf(volume, request) }, this.#context),
      );
    return isRepublished || canGrow ? this.#refreshMs : Number.POSITIVE_INFINITY;
  }

  async measure(request: VolumeRequest): Promise<FileSystemState | undefined> {
    const { drivers, client, paths } = this.#context;
    const volume = volumeOf(request);
    const driver = drivers.get(volume.driver);
    const volumePath = this.#pathOf(volume, request);
    if (volume.isBlock || !isMounted(volumePath) || !(await driver.can("volumeStats", client.signal))) return undefined;
    const stagingTargetPath = (await driver.can("stageUnstage", client.signal)) ? paths.staged(volume) : "";
    const call = { volumeId: volume.handle, volumePath, stagingTargetPath };
    return usageOf((await driver.call(nodeRpcs.stats, call, client.signal)).usage);
  }

  /** All who wait look again: something has come that they may have waited for. */
  wake(): void {
    for (const uid of this.#waiting) {
      this.#waiting.delete(uid);
      this.changed(uid);
    }
  }

  #pathOf({ isBlock, specName }: CsiVolume, { folder, pod }: VolumeRequest): string {
    return isBlock ? this.#context.paths.publishedDevice(specName, pod.metadata.uid ?? "") : join(folder, "mount");
  }

  /** Works on a volume in its turn, for a pod that will have it. */
  async #asWanted<T>(volume: CsiVolume, { metadata: { uid = "" } }: Pod, work: () => Promise<T>): Promise<T> {
    if (volume.mode === "Persistent") this.#staged.want(stagedOf(volume), uid);
    try {
      const result = await this.#context.turns.take(uniqueNameOf(volume), work);
      this.#waiting.delete(uid);
      return result;
    } catch (error) {
      if (error instanceof InputMissing) this.#waiting.add(uid);
      throw error instanceof CriError ? new Error(rpcText(error)) : error;
    }
  }

  async #mount(volume: CsiVolume, request: VolumeRequest, targetPath: string): Promise<void> {
    const { drivers, client, described, node } = this.#context;
    const driver = drivers.get(volume.driver);
    const description = await described(volume.driver);
    const problem = modeProblem(volume, description);
    if (problem !== undefined) throw new InputMissing(`kubernetes.io/csi: ${problem}`);
    const context = await publishContext(volume, description, this.#context);
    const inputs = await publishInputs(volume, request.pod, description, this.#context);
    const volumeCapability = await this.#capability(volume, driver, request.pod);
    await writeVolumeData(request.folder, {
      specVolID: volume.specName,
      volumeHandle: volume.handle,
      driverName: volume.driver,
      nodeName: node,
      attachmentID: attachmentOf(volume, node),
      volumeLifecycleMode: volume.mode,
    });
    const stagingTargetPath = await this.#stage(
      volume,
      driver,
      { publishContext: context, volumeCapability },
      targetPath,
    );
    await driver.call(
      nodeRpcs.publish,
      {
        volumeId: volume.handle,
        publishContext: context,
        stagingTargetPath,
        targetPath,
        volumeCapability,
        readonly: volume.isReadOnly,
        ...inputs,
      },
      client.signal,
    );
    if (volume.mode === "Persistent" && (await driver.can("expand", client.signal)))
      await expandIfWanted({ volume, request, driver, path: targetPath }, this.#context);
  }

  async #stage(
    volume: CsiVolume,
    driver: CsiDriverConnection,
    draft: { readonly publishContext: Readonly<Record<string, string>>; readonly volumeCapability: Capability },
    targetPath: string,
  ): Promise<string> {
    if (volume.mode === "Ephemeral") return "";
    try {
      return await this.#staged.stage(volume, driver, async () => ({
        ...draft,
        secrets: await secretTexts(volume.stageSecret, this.#context),
        volumeContext: volume.attributes,
      }));
    } catch (error) {
      // It was never published: the pod can go without its driver.
      if (!isMounted(targetPath)) await removeMountFolder(targetPath);
      throw error;
    }
  }

  async #capability(volume: CsiVolume, driver: CsiDriverConnection, { spec }: Pod): Promise<Capability> {
    const { signal } = this.#context.client;
    const delegates = await driver.can("volumeMountGroup", signal);
    return capabilityOf(volume, {
      knowsWriters: await driver.can("singleNodeMultiWriter", signal),
      group: delegates ? spec.securityContext?.fsGroup : undefined,
    });
  }
}

type Capability = ReturnType<typeof capabilityOf>;

function volumeOf(request: VolumeRequest): CsiVolume {
  const volume = csiVolumeOf(request, request.pod);
  if (!volume) throw new Error(`volume ${request.volume.name} has no storage driver`);
  return volume;
}

export const stagedOf = ({ driver, handle, isBlock, specName }: CsiVolume) => ({
  driver,
  handle,
  ...(isBlock && { specName }),
});
