import { bool, type Infer, list, map, resource, string } from "#schema/index.ts";
import { TopologySelectorTerm } from "../../core/v1/affinity.ts";

export const StorageClass = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  returnsDeleted: true,
  shortNames: ["sc"],
  scope: "Cluster",
  doc: "",
  fields: {
    provisioner: string(2).required(),
    parameters: map(3, "string"),
    reclaimPolicy: string(4).oneOf("Delete", "Recycle", "Retain").pointer().default("Delete"),
    mountOptions: list(5, "string"),
    allowVolumeExpansion: bool(6).pointer(),
    volumeBindingMode: string(7).oneOf("Immediate", "WaitForFirstConsumer").pointer().default("Immediate"),
    allowedTopologies: list(8, TopologySelectorTerm),
  },
});
export interface StorageClass extends Infer<typeof StorageClass> {}
