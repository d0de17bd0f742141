// What the kubelet notes on disk about volumes of storage drivers: enough to take them back, by a later kubelet and without the API. Paths and
// contents are upstream's, which drivers rely on.
//
//   PODS/UID/volumes/kubernetes.io~csi/NAME/{mount,vol_data.json}            a volume of a pod
//   PODS/UID/volumeDevices/kubernetes.io~csi/NAME                           a link to a device of a pod
//   PLUGINS/kubernetes.io/csi/DRIVER/HASH/{globalmount,vol_data.json}       a volume that is staged for the node
//   PLUGINS/kubernetes.io/csi/volumeDevices/{staging,publish}/NAME, …/NAME/data/vol_data.json    the same for devices
//
// Upstream: pkg/volume/csi/csi_util.go.
import { readdir, readFile, rename, rmdir, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { explain, hasCode } from "#base/errors.ts";
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import { parseJson } from "#schema/json.ts";
import { makeFolder, writeAs } from "../volumes/files.ts";
import { isMounted } from "../volumes/mounts.ts";

export const csiFolder = "kubernetes.io~csi";
const dataFile = "vol_data.json";

export interface VolumeData {
  readonly driverName: string;
  readonly volumeHandle: string;
  readonly specVolID?: string;
  readonly nodeName?: string;
  readonly attachmentID?: string;
  readonly volumeLifecycleMode?: string;
}

export class CsiPaths {
  readonly #plugins: string;
  readonly pods: string;

  constructor({ root, pods }: { readonly root: string; readonly pods: string }) {
    this.#plugins = join(root, "plugins/kubernetes.io/csi");
    this.pods = pods;
  }

  staged({ driver, handle }: { readonly driver: string; readonly handle: string }): string {
    return join(this.#plugins, driver, hex(sha256(handle)), "globalmount");
  }

  /** Of the volume's own notes. */
  deviceData(specName: string): string {
    return join(this.#plugins, "volumeDevices", specName, "data");
  }

  stagedDevice(specName: string): string {
    return join(this.#plugins, "volumeDevices/staging", specName);
  }

  publishedDevice(specName: string, podUid: string): string {
    return join(this.#plugins, "volumeDevices/publish", specName, podUid);
  }

  /** All that is staged, or may be. */
  async allStaged(): Promise<readonly { readonly data: VolumeData; readonly specName?: string }[]> {
    const found: { readonly data: VolumeData; readonly specName?: string }[] = [];
    for (const driver of await namesIn(this.#plugins)) {
      if (driver === "volumeDevices") continue;
      for (const name of await namesIn(join(this.#plugins, driver))) {
        const data = await readVolumeData(join(this.#plugins, driver, name));
        if (data) found.push({ data });
      }
    }
    for (const specName of await namesIn(join(this.#plugins, "volumeDevices"))) {
      const data = await readVolumeData(this.deviceData(specName));
      if (data) found.push({ data, specName });
    }
    return found;
  }

  /** The volumes that pods have. */
  async allPublished(): Promise<readonly VolumeData[]> {
    const found: VolumeData[] = [];
    for (const uid of await namesIn(this.pods)) {
      const folder = join(this.pods, uid, "volumes", csiFolder);
      for (const name of await namesIn(folder)) {
        const data = await readVolumeData(join(folder, name));
        if (data) found.push(data);
      }
    }
    return found;
  }

  /** Whether a pod has the device, or is about to have it. */
  async hasDeviceLinks(specName: string): Promise<boolean> {
    for (const uid of await namesIn(this.pods))
      if ((await namesIn(join(this.pods, uid, "volumeDevices", csiFolder))).includes(specName)) return true;
    return false;
  }
}

/** Undefined if there is none. */
export async function readVolumeData(folder: string): Promise<VolumeData | undefined> {
  const path = join(folder, dataFile);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
  try {
    const { value } = parseJson(text);
    if (isVolumeData(value)) return value;
  } catch (cause) {
    throw new Error(`read ${path}: ${explain(cause)}`, { cause });
  }
  throw new Error(`${path} does not tell the driver and the volume`);
}

const isVolumeData = (value: unknown): value is VolumeData =>
  typeof value === "object" &&
  value !== null &&
  "driverName" in value &&
  typeof value.driverName === "string" &&
  "volumeHandle" in value &&
  typeof value.volumeHandle === "string";

/** The file is there whole, or not at all. */
export async function writeVolumeData(folder: string, data: VolumeData): Promise<void> {
  await makeFolder(folder, 0o750);
  const path = join(folder, dataFile);
  const sorted = Object.fromEntries(Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  await writeAs(`${path}.new`, `${JSON.stringify(sorted)}\n`, 0o644);
  await rename(`${path}.new`, path);
}

/** Removes an unmounted folder with its notes. What is still mounted, or is not empty, is left: it may be somebody's data. */
export async function removeMountFolder(mount: string): Promise<void> {
  if (isMounted(mount)) throw new Error(`${mount} is still mounted, although its driver says that it is not`);
  await unlessMissing(rmdir(mount));
  const folder = dirname(mount);
  await unlessMissing(unlink(join(folder, `${dataFile}.new`)));
  await unlessMissing(unlink(join(folder, dataFile)));
  await unlessMissing(rmdir(folder));
}

export async function removeDataFolder(folder: string): Promise<void> {
  await unlessMissing(unlink(join(folder, `${dataFile}.new`)));
  await unlessMissing(unlink(join(folder, dataFile)));
  await unlessMissing(rmdir(folder));
}

export async function unlessMissing(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ENOTDIR")) throw error;
  }
}

export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

/** The pod of a folder of one of its volumes, or of a link to a device. */
export const podUidOf = (path: string): string => basename(dirname(dirname(dirname(path))));
