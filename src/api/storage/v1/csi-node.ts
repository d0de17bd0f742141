import { type Infer, int32, list, ref, resource, string, struct } from "#schema/index.ts";

export const VolumeNodeResources = struct("storage/v1.VolumeNodeResources", {
  count: int32(1).pointer(),
});
export interface VolumeNodeResources extends Infer<typeof VolumeNodeResources> {}

export const CSINodeDriver = struct("storage/v1.CSINodeDriver", {
  name: string(1).required(),
  nodeID: string(2).required(),
  topologyKeys: list(3, "string").always(),
  allocatable: ref(4, VolumeNodeResources),
});
export interface CSINodeDriver extends Infer<typeof CSINodeDriver> {}

export const CSINodeSpec = struct("storage/v1.CSINodeSpec", {
  drivers: list(1, CSINodeDriver).keyedBy("name").required(),
});
export interface CSINodeSpec extends Infer<typeof CSINodeSpec> {}

export const CSINode = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "CSINode",
  plural: "csinodes",
  returnsDeleted: true,
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, CSINodeSpec).required(),
  },
});
export interface CSINode extends Infer<typeof CSINode> {}
