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
  doc: "Asks for a pod to be deleted, which is refused as long as a disruption budget forbids it.",
  fields: {
    deleteOptions: ref(2, DeleteOptions, "How to delete the pod."),
  },
});
export interface Eviction extends Infer<typeof Eviction> {}
