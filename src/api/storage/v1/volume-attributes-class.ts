import { equal } from "#base/collections.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import { forbidden, type Infer, map, resource, string } from "#schema/index.ts";
import { checkParameters, provisionerName } from "./checks.ts";

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
    driverName: string(2, "The driver that understands the settings; cannot change.")
      .nonEmpty()
      .is(provisionerName)
      .required(),
    parameters: map(3, "string", "The settings; cannot change.").nonEmpty("must contain at least one key/value pair"),
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
    yield* checkParameters(parameters);
  },
});
export interface VolumeAttributesClass extends Infer<typeof VolumeAttributesClass> {}
