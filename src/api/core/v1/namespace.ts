import { type Infer, list, ref, resource, string, struct, time } from "#schema/index.ts";

export const NamespaceCondition = struct("core/v1.NamespaceCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastTransitionTime: time(4),
  reason: string(5),
  message: string(6),
});
export interface NamespaceCondition extends Infer<typeof NamespaceCondition> {}

export const NamespaceSpec = struct("core/v1.NamespaceSpec", {
  finalizers: list(1, "string"),
});
export interface NamespaceSpec extends Infer<typeof NamespaceSpec> {}

export const NamespaceStatus = struct("core/v1.NamespaceStatus", {
  phase: string(1).oneOf("Active", "Terminating").default("Active"),
  conditions: list(2, NamespaceCondition).keyedBy("type"),
});
export interface NamespaceStatus extends Infer<typeof NamespaceStatus> {}

export const Namespace = resource({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  shortNames: ["ns"],
  scope: "Cluster",
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  doc: "",
  fields: {
    spec: ref(2, NamespaceSpec).default({}),
    status: ref(3, NamespaceStatus).default({}),
  },
  subresources: { finalize: { verbs: ["update"] }, status: true },
});
export interface Namespace extends Infer<typeof Namespace> {}
