import { type Infer, map, resource, string } from "#schema/index.ts";

export const VolumeAttributesClass = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "VolumeAttributesClass",
  plural: "volumeattributesclasses",
  returnsDeleted: true,
  shortNames: ["vac"],
  scope: "Cluster",
  doc: "",
  fields: {
    driverName: string(2).required(),
    parameters: map(3, "string"),
  },
});
export interface VolumeAttributesClass extends Infer<typeof VolumeAttributesClass> {}
