import { nameColumn } from "#schema/columns.ts";
import { type Infer, list, resource, string, struct } from "#schema/index.ts";

export const ComponentCondition = struct(
  "core/v1.ComponentCondition",
  {
    type: string(1, "What it is about: Healthy.").required(),
    status: string(2, "Whether it holds: True, False or Unknown.").required(),
    message: string(3, "What the component said."),
    error: string(4, "What went wrong when it was asked."),
  },
  { doc: "What is known about a component." },
);
export interface ComponentCondition extends Infer<typeof ComponentCondition> {}

const health = (conditions: readonly ComponentCondition[] | undefined) =>
  conditions?.find(({ type }) => type === "Healthy");

export const ComponentStatus = resource({
  group: "",
  version: "v1",
  kind: "ComponentStatus",
  plural: "componentstatuses",
  shortNames: ["cs"],
  scope: "Cluster",
  verbs: ["get", "list"],
  stored: false,
  deprecated: { since: "v1.19" },
  doc: "Whether a part of the control plane is well, found out when asked. No longer of much use.",
  fields: {
    conditions: list(2, ComponentCondition, "What is known about the component.").keyedBy("type"),
  },
  columns: [
    nameColumn,
    {
      name: "Status",
      doc: "Whether it is well.",
      cell: ({ conditions }) => {
        const found = health(conditions);
        return found ? (found.status === "True" ? "Healthy" : "Unhealthy") : "Unknown";
      },
    },
    { name: "Message", doc: "What it said.", cell: ({ conditions }) => health(conditions)?.message ?? "" },
    {
      name: "Error",
      doc: "What went wrong when it was asked.",
      cell: ({ conditions }) => health(conditions)?.error ?? "",
    },
  ],
});
export interface ComponentStatus extends Infer<typeof ComponentStatus> {}
