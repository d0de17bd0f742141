import { duration, type Infer, map, resource, time } from "#schema/index.ts";
import type { Amounts } from "../../core/v1/amounts.ts";
import { usageColumns } from "./usage.ts";

export const NodeMetrics = resource({
  group: "metrics.k8s.io",
  version: "v1beta1",
  kind: "NodeMetrics",
  plural: "nodes",
  singular: "",
  scope: "Cluster",
  verbs: ["get", "list"],
  stored: false,
  doc: "What a node uses.",
  fields: {
    timestamp: time(2, "When it was measured.").required(),
    window: duration(3, "The span of time before that, over which the use of processors is an average.").required(),
    usage: map(4, "quantity", "What is used: processors, and memory that is not easily given back.").required(),
  },
  columns: usageColumns(({ usage }: { readonly usage: Amounts }) => usage),
});
export interface NodeMetrics extends Infer<typeof NodeMetrics> {}
