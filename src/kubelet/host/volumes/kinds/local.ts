// Persistent volumes that are a folder or a disk of this node.
// Upstream: pkg/volume/local/local.go.
import { InputMissing } from "../../../inputs/sources.ts";
import { exists } from "../files.ts";
import { giveToGroup } from "../ownership.ts";
import type { VolumeKind } from "../volume-kind.ts";

export const local: VolumeKind = {
  folderName: "kubernetes.io~local-volume",
  keptIn: "disk",
  supports: ({ persistentVolume }) => persistentVolume?.spec.local !== undefined,
  async provide({ persistentVolume }) {
    const path = persistentVolume?.spec.local?.path ?? "";
    if (!(await exists(path))) throw new InputMissing(`path ${JSON.stringify(path)} does not exist`);
    return path;
  },
  // Only before anything of the pod runs: what its containers do to their files later is their own choice.
  publish: (path, { pod }) => giveToGroup(path, pod, "rw"),
};
