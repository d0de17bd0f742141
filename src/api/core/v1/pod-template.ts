import { type Infer, ref, resource } from "#schema/index.ts";
import { PodTemplateSpec } from "./pod-spec.ts";

export const PodTemplate = resource({
  group: "",
  version: "v1",
  kind: "PodTemplate",
  plural: "podtemplates",
  returnsDeleted: true,
  scope: "Namespaced",
  doc: "",
  fields: {
    template: ref(2, PodTemplateSpec).default({}),
  },
});
export interface PodTemplate extends Infer<typeof PodTemplate> {}
