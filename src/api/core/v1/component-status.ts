import { type Infer, list, resource, string, struct } from "#schema/index.ts";

export const ComponentCondition = struct("core/v1.ComponentCondition", {
  type: string(1).required(),
  status: string(2).required(),
  message: string(3),
  error: string(4),
});
export interface ComponentCondition extends Infer<typeof ComponentCondition> {}

export const ComponentStatus = resource({
  group: "",
  version: "v1",
  kind: "ComponentStatus",
  plural: "componentstatuses",
  shortNames: ["cs"],
  scope: "Cluster",
  verbs: ["get", "list"],
  stored: false,
  doc: "",
  fields: {
    conditions: list(2, ComponentCondition).keyedBy("type"),
  },
});
export interface ComponentStatus extends Infer<typeof ComponentStatus> {}
