import { equal } from "#base/collections.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import { forbidden, type Infer, map, required, resource, string } from "#schema/index.ts";
import { checkParameters, checkProvisioner } from "./checks.ts";

export const VolumeAttributesClass = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "VolumeAttributesClass",
  plural: "volumeattributesclasses",
  returnsDeleted: true,
  shortNames: ["vac"],
  scope: "Cluster",
  doc: "Settings of volumes that can change while they are in use, under a name that claims refer to.",
  fields: {
    driverName: string(2, "The driver that understands the settings; cannot change.").required(),
    parameters: map(3, "string", "The settings; cannot change."),
  },
  columns: [
    nameColumn,
    { name: "DriverName", doc: "The driver that understands the settings.", cell: ({ driverName }) => driverName },
    ageColumn,
  ],
  *check({ driverName, parameters }, old) {
    if (old && driverName !== old.driverName) yield forbidden("driverName", "updates to driverName are forbidden.");
    if (old && !equal(parameters, old.parameters))
      yield forbidden("parameters", "updates to parameters are forbidden.");
    yield* checkProvisioner("driverName", driverName);
    yield* checkParameters(parameters);
    if (Object.keys(parameters ?? {}).length === 0)
      yield required("parameters", "must contain at least one key/value pair");
  },
});
export interface VolumeAttributesClass extends Infer<typeof VolumeAttributesClass> {}
