import { nameColumn } from "#schema/columns.ts";
import { type Infer, ref, resource } from "#schema/index.ts";
import { formatLabels } from "../../label-selection.ts";
import { PodTemplateSpec } from "./pod-spec.ts";

export const PodTemplate = resource({
  group: "",
  version: "v1",
  kind: "PodTemplate",
  plural: "podtemplates",
  scope: "Namespaced",
  returnsDeleted: true,
  doc: "A description of a pod that others may make pods of.",
  fields: {
    template: ref(2, PodTemplateSpec, "What the pods are made of.").default({}),
  },
  columns: [
    nameColumn,
    {
      name: "Containers",
      doc: "Names of the containers.",
      cell: ({ template }) => template.spec.containers.map(({ name }) => name).join(","),
    },
    {
      name: "Images",
      doc: "Images of the containers.",
      cell: ({ template }) => template.spec.containers.map(({ image }) => image ?? "").join(","),
    },
    {
      name: "Pod Labels",
      doc: "Labels of the pods.",
      cell: ({ template }) => formatLabels(template.metadata.labels),
    },
  ],
});
export interface PodTemplate extends Infer<typeof PodTemplate> {}
