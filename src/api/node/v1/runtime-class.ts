import { type Infer, list, map, ref, resource, string, struct } from "#schema/index.ts";
import { Toleration } from "../../core/v1/affinity.ts";

export const Overhead = struct("node/v1.Overhead", {
  podFixed: map(1, "quantity"),
});
export interface Overhead extends Infer<typeof Overhead> {}

export const Scheduling = struct("node/v1.Scheduling", {
  nodeSelector: map(1, "string").atomic(),
  tolerations: list(2, Toleration),
});
export interface Scheduling extends Infer<typeof Scheduling> {}

export const RuntimeClass = resource({
  group: "node.k8s.io",
  version: "v1",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  scope: "Cluster",
  doc: "",
  fields: {
    handler: string(2).required(),
    overhead: ref(3, Overhead),
    scheduling: ref(4, Scheduling),
  },
});
export interface RuntimeClass extends Infer<typeof RuntimeClass> {}
