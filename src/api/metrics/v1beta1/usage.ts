// What both kinds of the group show in their tables.
// Upstream: sigs.k8s.io/metrics-server/pkg/api/table.go.
import { nameColumn } from "#schema/columns.ts";
import type { Column } from "#schema/index.ts";
import type { Amounts } from "../../core/v1/amounts.ts";

interface MeasurementTime {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string };
  readonly window: string;
}

/** Name, one column for each resource, and the span of time that the processor's use is an average of. */
export const usageColumns = <O>(usageOf: (object: O) => Amounts): readonly Column<O & MeasurementTime>[] => [
  { ...nameColumn, doc: "Name of the resource" },
  { name: "cpu", format: "quantity", doc: "", cell: (object) => usageOf(object).cpu ?? "0" },
  { name: "memory", format: "quantity", doc: "", cell: (object) => usageOf(object).memory ?? "0" },
  { name: "Window", format: "duration", doc: "", cell: ({ window }) => window },
];
