import { bool, type Infer, map, resource, string } from "#schema/index.ts";

export const Secret = resource({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  scope: "Namespaced",
  doc: "",
  fields: {
    immutable: bool(5).pointer(),
    data: map(2, "bytes"),
    stringData: map(4, "string"),
    type: string(3).default("Opaque"),
  },
});
export interface Secret extends Infer<typeof Secret> {}
