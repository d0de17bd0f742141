// Folders that begin empty, on disk or in memory. What a container writes there stays as long as the pod.
// Upstream: pkg/volume/emptydir/empty_dir.go.
import { chmod, chown, rename } from "node:fs/promises";
import { dirname } from "node:path";
import type { Pod } from "#api/core/v1/pod.ts";
import { podAmounts } from "#rules/pod-amounts.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { InputMissing } from "../../../inputs/sources.ts";
import { exists, makeFolder } from "../files.ts";
import { isMounted, mountTmpfs, unmountBelow } from "../mounts.ts";
import type { VolumeKind } from "../volume-kind.ts";

export const emptyDir: VolumeKind = {
  folderName: "kubernetes.io~empty-dir",
  keptIn: "disk",
  supports: ({ volume }) => volume.emptyDir !== undefined,
  async provide({ volume, pod, podContext, folder }) {
    const { medium = "", sizeLimit } = volume.emptyDir ?? {};
    if (medium !== "" && medium !== "Memory")
      throw new InputMissing(`emptyDir of medium ${JSON.stringify(medium)} cannot be made by this kubelet`);
    const { fsGroup } = pod.spec.securityContext ?? {};
    const access = { gid: fsGroup ?? 0, mode: fsGroup === undefined ? 0o777 : 0o2777 };
    if (medium === "Memory") {
      if (isMounted(folder)) return folder;
      await makeFolder(folder, 0o750);
      await mountTmpfs(folder, { ...access, sizeBytes: memoryLimit(pod, sizeLimit, podContext.allocatable.memory) });
    } else if (!(await exists(folder))) await makeOnDisk(folder, access);
    return folder;
  },
  unpublish: unmountBelow,
};

/** The folder appears with its final owner and mode: a kubelet that is killed meanwhile leaves no folder that its pod cannot write. */
async function makeOnDisk(
  folder: string,
  { gid, mode }: { readonly gid: number; readonly mode: number },
): Promise<void> {
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

/** A pod has a memory limit if it sets one for the whole pod, or for each of its containers. */
const hasMemoryLimit = ({ spec }: Pod): boolean =>
  spec.resources?.limits?.memory !== undefined ||
  spec.containers.every(({ resources }) => resources.limits?.memory !== undefined);
