// Block devices of storage drivers: staged for the node, published at a path of the kubelet's for each pod, and given to containers as devices.
// A link in the pod's folder says that the pod has the device; it is made before the driver is asked, and removed after it has taken the
// device back.
// Upstream: pkg/volume/csi/csi_block.go.
import { readlink, stat, symlink, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { hasCode } from "#base/errors.ts";
import { attachmentOf, type CsiVolume, capabilityOf, uniqueNameOf } from "../../csi/csi-volume.ts";
import { exists, makeFolder } from "../volumes/files.ts";
import type { DeviceRequest } from "../volumes/volume-kind.ts";
import { publishContext, publishInputs, secretTexts } from "./call-inputs.ts";
import type { CsiContext } from "./csi-context.ts";
import { nodeRpcs } from "./messages.ts";
import type { StagedVolumes } from "./staged-volumes.ts";
import { podUidOf, readVolumeData, unlessMissing, writeVolumeData } from "./volume-data.ts";

export class CsiDevices {
  readonly #context: CsiContext;
  readonly #staged: StagedVolumes;

  constructor(context: CsiContext, staged: StagedVolumes) {
    this.#context = context;
    this.#staged = staged;
  }

  /** Returns the path of the device. The caller has the volume's turn. */
  async map(volume: CsiVolume, { pod, link }: DeviceRequest): Promise<string> {
    const { drivers, described, client, paths, node } = this.#context;
    const targetPath = paths.publishedDevice(volume.specName, pod.metadata.uid ?? "");
    if (await isDevice(targetPath)) return targetPath;
    const driver = drivers.get(volume.driver);
    const description = await described(volume.driver);
    const context = await publishContext(volume, description, this.#context);
    const inputs = await publishInputs(volume, pod, description, this.#context);
    const knowsWriters = await driver.can("singleNodeMultiWriter", client.signal);
    const volumeCapability = capabilityOf(volume, { knowsWriters });
    await writeVolumeData(paths.deviceData(volume.specName), {
      specVolID: volume.specName,
      volumeHandle: volume.handle,
      driverName: volume.driver,
      nodeName: node,
      attachmentID: attachmentOf(volume, node),
    });
    await makeLink(targetPath, link);
    const stagingTargetPath = await this.#staged.stage(volume, driver, async () => ({
      publishContext: context,
      volumeCapability,
      secrets: await secretTexts(volume.stageSecret, this.#context),
      volumeContext: volume.attributes,
    }));
    await makeFolder(dirname(targetPath), 0o750);
    const call = {
      volumeId: volume.handle,
      publishContext: context,
      // Drivers without staging are told where it would have been, as upstream tells them.
      stagingTargetPath: stagingTargetPath || paths.stagedDevice(volume.specName),
      targetPath,
      volumeCapability,
      readonly: volume.isReadOnly,
      ...inputs,
    };
    await driver.call(nodeRpcs.publish, call, client.signal);
    if (!(await isDevice(targetPath)))
      throw new Error(`driver ${volume.driver} has published no block device at ${targetPath}`);
    return targetPath;
  }

  async unmap(link: string): Promise<void> {
    const { paths, drivers, client, turns } = this.#context;
    const specName = basename(link);
    const data = await readVolumeData(paths.deviceData(specName));
    if (!data) return unlessMissing(unlink(link));
    const volume = { driver: data.driverName, handle: data.volumeHandle, specName };
    await turns.take(uniqueNameOf(volume), async () => {
      const targetPath = paths.publishedDevice(specName, podUidOf(link));
      const call = { volumeId: volume.handle, targetPath };
      await drivers.get(volume.driver).call(nodeRpcs.unpublish, call, client.signal);
      if (await exists(targetPath)) await unlink(targetPath); // a mount point that the driver left; it is busy while it is mounted
      await unlessMissing(unlink(link));
    });
    this.#staged.release(volume);
  }
}

async function isDevice(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isBlockDevice();
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

async function makeLink(target: string, link: string): Promise<void> {
  await makeFolder(dirname(link), 0o750);
  try {
    await symlink(target, link);
  } catch (error) {
    if (!hasCode(error, "EEXIST") || (await readlink(link)) !== target) throw error;
  }
}
