import { duration, type Infer, list, map, resource, string, struct, time } from "#schema/index.ts";
import { addQuantity, formatQuantity, parseQuantity, zeroQuantity } from "#schema/quantity.ts";
import type { Amounts } from "../../core/v1/amounts.ts";
import { usageColumns } from "./usage.ts";

export const ContainerMetrics = struct(
  "metrics/v1beta1.ContainerMetrics",
  {
    name: string(1, "Name of the container.").required(),
    usage: map(2, "quantity", "What is used: processors, and memory that is not easily given back.").required(),
  },
  { doc: "What a container uses." },
);
export interface ContainerMetrics extends Infer<typeof ContainerMetrics> {}

export const PodMetrics = resource({
  group: "metrics.k8s.io",
  version: "v1beta1",
  kind: "PodMetrics",
  plural: "pods",
  singular: "",
  scope: "Namespaced",
  verbs: ["get", "list"],
  stored: false,
  doc: "What the containers of a pod use.",
  fields: {
    timestamp: time(2, "When it was measured.").required(),
    window: duration(3, "The span of time before that, over which the use of processors is an average.").required(),
    containers: list(4, ContainerMetrics, "What each container uses, measured over the same span.").required(),
  },
  columns: usageColumns(({ containers }: { readonly containers: readonly ContainerMetrics[] }) => totalOf(containers)),
});
export interface PodMetrics extends Infer<typeof PodMetrics> {}

function totalOf(containers: readonly ContainerMetrics[]): Amounts {
  const sum = (name: string): string =>
    formatQuantity(containers.map(({ usage }) => parseQuantity(usage[name] ?? "0")).reduce(addQuantity, zeroQuantity));
  return { cpu: sum("cpu"), memory: sum("memory") };
}
