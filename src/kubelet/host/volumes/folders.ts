// Volumes that are places on this machine: paths of the host, disks and folders of persistent volumes, and folders that begin empty.
import { chmod, chown, constants, open, rename, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { own } from "#base/collections.ts";
import { podAmounts } from "#rules/pod-amounts.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { InputMissing, type InputSources, type PodPlace } from "../../inputs/sources.ts";
import { ClaimFailed } from "../../volume-ground.ts";
import { exists, makeFolder } from "./files.ts";
import { isMounted, mountTmpfs } from "./mounts.ts";
import { entryOf } from "./places.ts";
import { openBelow } from "./sub-path.ts";

const checks: Readonly<Record<string, (found: Awaited<ReturnType<typeof stat>>) => boolean>> = {
  Directory: (found) => found.isDirectory(),
  DirectoryOrCreate: (found) => found.isDirectory(),
  File: (found) => found.isFile(),
  FileOrCreate: (found) => found.isFile(),
  Socket: (found) => found.isSocket(),
  CharDevice: (found) => found.isCharacterDevice(),
  BlockDevice: (found) => found.isBlockDevice(),
};

const kindsOfFile: Readonly<Record<string, string>> = {
  Directory: "directory",
  DirectoryOrCreate: "directory",
  File: "file",
  FileOrCreate: "file",
  Socket: "socket file",
  CharDevice: "character device",
  BlockDevice: "block device",
};

export async function hostPath({ path, type = "" }: NonNullable<Volume["hostPath"]>): Promise<string> {
  const failed = () =>
    new InputMissing(`hostPath type check failed: ${path} is not a ${own(kindsOfFile, type) ?? type}`);
  if (!(await exists(path))) {
    if (type === "FileOrCreate") await makeFileOfHost(path);
    else if (type === "" || type === "DirectoryOrCreate") await (await openBelow("/", path, 0o755)).close();
    else throw failed();
  }
  const check = own(checks, type);
  if (check && !check(await stat(path))) throw failed();
  return path;
}

/** Another container may have the folder above: a link that it puts there meanwhile is not followed. */
async function makeFileOfHost(path: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants;
  const folder = await openBelow("/", dirname(path));
  try {
    const file = await open(entryOf(folder, basename(path)), O_WRONLY | O_CREAT | O_NOFOLLOW, 0o644);
    await file.chmod(0o644).finally(() => file.close()); // whatever the mask of this process says
  } finally {
    await folder.close();
  }
}

/** The persistent volume that the pod's claim is bound to. Messages are those of upstream's volume manager. */
export async function claimedVolume(
  { metadata }: Pod,
  volume: Volume,
  sources: Pick<InputSources, "claim" | "persistentVolume">,
): Promise<PersistentVolume> {
  const { namespace = "", name: podName, uid } = metadata;
  const name = volume.ephemeral ? `${podName}-${volume.name}` : (volume.persistentVolumeClaim?.claimName ?? "");
  const failed = (why: string) => new ClaimFailed(`error processing PVC ${namespace}/${name}: ${why}`);
  const claim = await sources.claim(namespace, name);
  if (!claim)
    throw failed(`failed to fetch PVC from API server: persistentvolumeclaims ${JSON.stringify(name)} not found`);
  if (volume.ephemeral && !claim.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid))
    throw new ClaimFailed(
      `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`,
    );
  if (claim.metadata.deletionTimestamp !== undefined && !claim.metadata.finalizers?.includes(inUse))
    throw failed("PVC is being deleted");
  const { volumeName } = claim.spec;
  if (claim.status.phase !== "Bound" || !volumeName) throw failed("PVC is not bound");
  const found = await sources.persistentVolume(volumeName);
  if (!found) throw failed(`failed to fetch PV ${volumeName} from API server: it is not there`);
  if (found.spec.claimRef?.uid !== claim.metadata.uid)
    throw failed(`PV ${volumeName} is bound to another claim than ${namespace}/${name}`);
  if (found.spec.volumeMode === "Block") throw failed("volumes of mode Block cannot be mounted by this kubelet");
  return found;
}

const inUse = "kubernetes.io/pvc-protection";

/** Where a persistent volume of this node is, and whether its files are given to the group of pods: paths of the host never are. */
export async function persistentFolder(
  volume: PersistentVolume,
): Promise<{ readonly path: string; readonly isGiven: boolean }> {
  const { hostPath: onHost, local } = volume.spec;
  if (onHost) return { path: await hostPath(onHost), isGiven: false };
  if (!local)
    throw new InputMissing(`persistent volume ${volume.metadata.name} is of a type that this kubelet cannot mount`);
  if (!(await exists(local.path))) throw new InputMissing(`path ${JSON.stringify(local.path)} does not exist`);
  return { path: local.path, isGiven: true };
}

/** Made once; what a container wrote stays as long as the pod does. */
export async function emptyDir(
  folder: string,
  pod: Pod,
  { medium = "", sizeLimit }: NonNullable<Volume["emptyDir"]>,
  { allocatable }: PodPlace,
): Promise<string> {
  if (medium !== "" && medium !== "Memory")
    throw new InputMissing(`emptyDir of medium ${JSON.stringify(medium)} cannot be made by this kubelet`);
  const { fsGroup } = pod.spec.securityContext ?? {};
  const access = { gid: fsGroup ?? 0, mode: fsGroup === undefined ? 0o777 : 0o2777 };
  if (medium === "Memory") {
    if (isMounted(folder)) return folder;
    await makeFolder(folder, 0o750);
    await mountTmpfs(folder, { ...access, sizeBytes: memoryLimit(pod, sizeLimit, allocatable.memory) });
  } else if (!(await exists(folder))) await makeOpen(folder, access);
  return folder;
}

/** Complete from the first moment on: a kubelet that is killed meanwhile leaves no folder that its pod cannot write. */
async function makeOpen(folder: string, { gid, mode }: { readonly gid: number; readonly mode: number }): Promise<void> {
  const unfinished = `${folder}.new`; // no volume has a name with a dot
  await makeFolder(dirname(folder), 0o750);
  await makeFolder(unfinished, 0o700);
  await chown(unfinished, 0, gid);
  await chmod(unfinished, mode);
  await rename(unfinished, folder);
}

/** The least of what the volume, the pod and the node may have. */
function memoryLimit(pod: Pod, sizeLimit: string | undefined, ofNode: string | undefined): bigint {
  const limits = [ofNode, hasMemoryLimit(pod) ? podAmounts(pod, "limits").get("memory") : undefined, sizeLimit]
    .map((amount) => (amount === undefined ? 0n : quantityValue(parseQuantity(amount))))
    .filter((amount) => amount > 0n);
  return limits.reduce((least, amount) => (amount < least ? amount : least), limits[0] ?? 0n);
}

/** A pod is limited if all of its containers are. */
const hasMemoryLimit = ({ spec }: Pod): boolean =>
  spec.resources?.limits?.memory !== undefined ||
  spec.containers.every(({ resources }) => resources.limits?.memory !== undefined);
