import { dns1123Subdomain } from "#schema/formats.ts";
import { type Infer, invalid, quantity, ref, resource, string } from "#schema/index.ts";
import { parseQuantity } from "#schema/quantity.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { unchanged } from "../../rules.ts";

export const CSIStorageCapacity = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "CSIStorageCapacity",
  plural: "csistoragecapacities",
  scope: "Namespaced",
  doc: "How much storage of a class is left in one part of the cluster.",
  fields: {
    nodeTopology: ref(2, LabelSelector, "Which nodes can reach the storage; cannot change."),
    storageClassName: string(3, "The class; cannot change.").required(),
    capacity: quantity(4, "How much is left.").pointer(),
    maximumVolumeSize: quantity(5, "How large a volume can be.").pointer(),
  },
  *check(segment, old) {
    const { storageClassName, capacity } = segment;
    for (const detail of dns1123Subdomain(storageClassName)) yield invalid("storageClassName", detail);
    if (capacity !== undefined && parseQuantity(capacity).unscaled < 0n)
      yield invalid("capacity", "must be greater than or equal to 0");
    if (old) yield* unchanged(segment, old, "nodeTopology", "storageClassName");
  },
});
export interface CSIStorageCapacity extends Infer<typeof CSIStorageCapacity> {}
