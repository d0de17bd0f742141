import { equal, repeats } from "#base/collections.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import { qualifiedName } from "#schema/formats.ts";
import { duplicate, type Infer, int32, invalid, list, ref, required, resource, string, struct } from "#schema/index.ts";
import { internalForm } from "../../internal-form.ts";
import { driverName, mostDriverNameBytes } from "./checks.ts";

export const VolumeNodeResources = struct("storage/v1.VolumeNodeResources", {
  count: int32(1, "How many volumes of the driver the node can have.").min(0).pointer(),
});
export interface VolumeNodeResources extends Infer<typeof VolumeNodeResources> {}

export const CSINodeDriver = struct(
  "storage/v1.CSINodeDriver",
  {
    name: string(1, "Name of the driver.").nonEmpty().maxLength(mostDriverNameBytes).is(driverName).required(),
    nodeID: string(2, "What the driver calls the node.").nonEmpty().required(),
    topologyKeys: list(3, "string", "Labels of the node that say where the driver reaches.").always(),
    allocatable: ref(4, VolumeNodeResources, "What the driver can give on this node."),
  },
  {
    *check({ nodeID, topologyKeys }) {
      if (nodeID.length > 256) yield invalid("nodeID", "must be 256 characters or less");
      const isRepeated = repeats<string>();
      for (const key of topologyKeys) {
        if (key === "") yield required("");
        if (isRepeated(key)) yield duplicate("", key);
        for (const detail of qualifiedName(key)) yield invalid("", detail, key);
      }
    },
  },
);
export interface CSINodeDriver extends Infer<typeof CSINodeDriver> {}

export const CSINodeSpec = struct(
  "storage/v1.CSINodeSpec",
  {
    drivers: list(1, CSINodeDriver, "The drivers on the node.").keyedBy("name").required(),
  },
  {
    *check({ drivers }, old) {
      const isRepeated = repeats<string>();
      for (const [i, { name }] of drivers.entries()) if (isRepeated(name)) yield duplicate(`drivers[${i}].name`);
      const byName = Map.groupBy(drivers, ({ name }) => name);
      for (const { allocatable: _, ...before } of old?.drivers ?? [])
        for (const { allocatable: __, ...driver } of byName.get(before.name) ?? [])
          if (!equal(driver, before))
            yield invalid("drivers", "field is immutable", internalForm(CSINodeDriver, driver));
    },
  },
);
export interface CSINodeSpec extends Infer<typeof CSINodeSpec> {}

export const CSINode = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "CSINode",
  plural: "csinodes",
  returnsDeleted: true,
  scope: "Cluster",
  doc: "The storage drivers that run on a node. It has the node's name.",
  fields: {
    spec: ref(2, CSINodeSpec, "The drivers.").required(),
  },
  columns: [
    nameColumn,
    { name: "Drivers", type: "integer", doc: "How many drivers there are.", cell: ({ spec }) => spec.drivers.length },
    ageColumn,
  ],
});
export interface CSINode extends Infer<typeof CSINode> {}
