// Volumes that are places on this machine: paths of the host, disks and folders of persistent volumes, and folders that begin empty.
import { chmod, chown, mkdir, stat, writeFile } from "node:fs/promises";
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { podAmounts } from "#api/core/v1/pod-amounts.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { InputMissing, type InputSources, type PodPlace } from "../../inputs/sources.ts";
import { ClaimFailed } from "../../volume-ground.ts";
import { exists } from "./files.ts";
import { isMounted, mountTmpfs } from "./mounts.ts";
import { giveToGroup } from "./ownership.ts";

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
  const failed = () => new InputMissing(`hostPath type check failed: ${path} is not a ${kindsOfFile[type] ?? type}`);
  if (!(await exists(path))) {
    if (type === "FileOrCreate") await writeFile(path, "", { mode: 0o644 });
    else if (type === "" || type === "DirectoryOrCreate") await mkdir(path, { recursive: true, mode: 0o755 });
    else throw failed();
  }
  const check = checks[type];
  if (check && !check(await stat(path))) throw failed();
  return path;
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

/** Where a persistent volume of this node is. */
export async function persistentFolder(volume: PersistentVolume, pod: Pod): Promise<string> {
  const { hostPath: onHost, local } = volume.spec;
  if (onHost) return hostPath(onHost);
  if (!local)
    throw new InputMissing(`persistent volume ${volume.metadata.name} is of a type that this kubelet cannot mount`);
  if (!(await exists(local.path))) throw new InputMissing(`path ${JSON.stringify(local.path)} does not exist`);
  await giveToGroup(local.path, pod, "rw");
  return local.path;
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
  const isNew = !(await exists(folder));
  if (isNew) await mkdir(folder, { recursive: true, mode: 0o777 });
  if (medium === "Memory") {
    if (isMounted(folder)) return folder;
    await mountTmpfs(folder, memoryLimit(pod, sizeLimit, allocatable.memory));
  } else if (!isNew) return folder;
  await chmod(folder, 0o777); // whatever the mask of this process says
  const { fsGroup } = pod.spec.securityContext ?? {};
  if (fsGroup !== undefined) {
    await chown(folder, 0, fsGroup);
    await chmod(folder, 0o2777);
  }
  return folder;
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
