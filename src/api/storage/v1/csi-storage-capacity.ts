import { type Infer, quantity, ref, resource, string } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const CSIStorageCapacity = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "CSIStorageCapacity",
  plural: "csistoragecapacities",
  scope: "Namespaced",
  doc: "",
  fields: {
    nodeTopology: ref(2, LabelSelector),
    storageClassName: string(3).required(),
    capacity: quantity(4).pointer(),
    maximumVolumeSize: quantity(5).pointer(),
  },
});
export interface CSIStorageCapacity extends Infer<typeof CSIStorageCapacity> {}
