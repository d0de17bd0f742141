import type { Column } from "#schema/index.ts";
import { formatSelector } from "#schema/selector.ts";
import type { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import type { LabelSelector } from "../../meta/label-selector.ts";

interface Templated {
  readonly spec: { readonly template: PodTemplateSpec };
}

/** The names and images of the containers of a pod template, shown with `-o wide`. */
export const containerColumns: readonly Column<Templated>[] = [
  {
    name: "Containers",
    doc: "Names of the containers.",
    wide: true,
    cell: ({ spec }) => spec.template.spec.containers.map(({ name }) => name).join(","),
  },
  {
    name: "Images",
    doc: "Images of the containers.",
    wide: true,
    cell: ({ spec }) => spec.template.spec.containers.map(({ image }) => image ?? "").join(","),
  },
];

export const selectorColumn: Column<{ readonly spec: { readonly selector?: LabelSelector | undefined } }> = {
  name: "Selector",
  doc: "Which pods belong to it.",
  wide: true,
  cell: ({ spec }) => formatSelector(spec.selector),
};
