import { type Infer, notSupported, type Problem, ref, required, resource } from "#schema/index.ts";
import { ObjectReference } from "./references.ts";

export const Binding = resource({
  group: "",
  version: "v1",
  kind: "Binding",
  plural: "bindings",
  scope: "Namespaced",
  verbs: ["create"],
  stored: false,
  doc: "Puts a pod on a node.",
  fields: {
    target: ref(2, ObjectReference, "The node.").required(),
  },
  *check({ target }): Iterable<Problem> {
    if (target.kind && target.kind !== "Node") yield notSupported("target.kind", ["Node", "<empty>"], target.kind);
    if (!target.name) yield required("target.name");
  },
});
export interface Binding extends Infer<typeof Binding> {}
