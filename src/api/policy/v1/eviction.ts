import { type Infer, ref, resource } from "#schema/index.ts";
import { DeleteOptions } from "../../meta/options.ts";

export const Eviction = resource({
  group: "policy",
  version: "v1",
  kind: "Eviction",
  plural: "evictions",
  scope: "Namespaced",
  verbs: ["create"],
  stored: false,
  doc: "",
  fields: {
    deleteOptions: ref(2, DeleteOptions),
  },
});
export interface Eviction extends Infer<typeof Eviction> {}
