// Volumes whose files are made from API objects. Where upstream mounts a tmpfs for each, we write below one folder in memory.
// Upstream: pkg/volume/configmap/configmap.go, pkg/volume/secret/secret.go, pkg/volume/downwardapi/downwardapi.go and
// pkg/volume/projected/projected.go.
import { filesOf } from "../../../inputs/files.ts";
import { InputMissing } from "../../../inputs/sources.ts";
import { writeObjectFolder } from "../object-folder.ts";
import { giveToGroup } from "../ownership.ts";
import type { VolumeKind, VolumeRequest } from "../volume-kind.ts";

async function provide({ pod, volume, sources, podContext, folder, stamp }: VolumeRequest): Promise<string> {
  const files = await filesOf(pod, volume, sources, podContext);
  if (!files) throw new InputMissing(`volume ${volume.name} is not made of objects`);
  await writeObjectFolder(folder, files, stamp(), () => giveToGroup(folder, pod, "ro"));
  return folder;
}

export const configMap: VolumeKind = {
  folderName: "kubernetes.io~configmap",
  keptIn: "disk",
  isMadeOfObjects: true,
  supports: ({ volume }) => volume.configMap !== undefined,
  provide,
};

export const secret: VolumeKind = {
  folderName: "kubernetes.io~secret",
  keptIn: "memory",
  isMadeOfObjects: true,
  supports: ({ volume }) => volume.secret !== undefined,
  provide,
};

export const downwardApi: VolumeKind = {
  folderName: "kubernetes.io~downward-api",
  keptIn: "memory",
  isMadeOfObjects: true,
  supports: ({ volume }) => volume.downwardAPI !== undefined,
  provide,
};

/** In memory, since it may hold secrets and tokens. */
export const projected: VolumeKind = {
  folderName: "kubernetes.io~projected",
  keptIn: "memory",
  isMadeOfObjects: true,
  supports: ({ volume }) => volume.projected !== undefined,
  provide,
};
