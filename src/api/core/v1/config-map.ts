import { ageColumn, nameColumn } from "#schema/columns.ts";
import { bool, type Infer, map, type Problem, resource } from "#schema/index.ts";
import { checkConfigMap } from "./checks/data.ts";

export const ConfigMap = resource({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  shortNames: ["cm"],
  scope: "Namespaced",
  doc: "Settings for pods: keys and values that become files or variables.",
  fields: {
    immutable: bool(4, "Once true, neither the data nor this can change.").pointer(),
    data: map(2, "string", "Keys and their text."),
    binaryData: map(3, "bytes", "Keys and their bytes, in base64; no key may be in data as well."),
  },
  columns: [
    nameColumn,
    {
      name: "Data",
      doc: "How many keys there are.",
      cell: ({ data, binaryData }) => Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
    },
    ageColumn,
  ],
  check: (configMap, old): Iterable<Problem> => checkConfigMap(configMap, old),
});
export interface ConfigMap extends Infer<typeof ConfigMap> {}
