// Persistent volumes that are a folder or a disk of this node.
// Upstream: pkg/volume/local/local.go.
import { stat } from "node:fs/promises";
import { InputMissing } from "../../../inputs/sources.ts";
import { fileSystem } from "../../machine.ts";
import { exists } from "../files.ts";
import { giveToGroup } from "../ownership.ts";
import type { VolumeKind, VolumeRequest } from "../volume-kind.ts";

export const local: VolumeKind = {
  folderName: "kubernetes.io~local-volume",
  keptIn: "disk",
  supports: ({ persistentVolume }) => persistentVolume?.spec.local !== undefined,
  provide,
  async provideDevice(request) {
    const path = await provide(request);
    if (!(await stat(path)).isBlockDevice()) throw new InputMissing(`path ${JSON.stringify(path)} is no block device`);
    return path;
  },
  measure: async (request) => fileSystem(await provide(request)),
  // Only before anything of the pod runs: what its containers do to their files later is their own choice.
  publish: (path, { pod }) => giveToGroup(path, pod, "rw"),
};

async function provide({ persistentVolume }: VolumeRequest): Promise<string> {
  const path = persistentVolume?.spec.local?.path ?? "";
  if (!(await exists(path))) throw new InputMissing(`path ${JSON.stringify(path)} does not exist`);
  return path;
}
