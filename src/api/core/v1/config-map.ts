import { bool, type Infer, map, resource } from "#schema/index.ts";

export const ConfigMap = resource({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  shortNames: ["cm"],
  scope: "Namespaced",
  doc: "",
  fields: {
    immutable: bool(4).pointer(),
    data: map(2, "string"),
    binaryData: map(3, "bytes"),
  },
});
export interface ConfigMap extends Infer<typeof ConfigMap> {}
