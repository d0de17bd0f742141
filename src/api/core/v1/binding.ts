import { type Infer, ref, resource } from "#schema/index.ts";
import { ObjectReference } from "./references.ts";

export const Binding = resource({
  group: "",
  version: "v1",
  kind: "Binding",
  plural: "bindings",
  scope: "Namespaced",
  verbs: ["create"],
  stored: false,
  doc: "",
  fields: {
    target: ref(2, ObjectReference).required(),
  },
});
export interface Binding extends Infer<typeof Binding> {}
