import { bool, type Infer, int32, resource, string } from "#schema/index.ts";

export const PriorityClass = resource({
  group: "scheduling.k8s.io",
  version: "v1",
  kind: "PriorityClass",
  plural: "priorityclasses",
  shortNames: ["pc"],
  scope: "Cluster",
  doc: "",
  fields: {
    value: int32(2).always(),
    globalDefault: bool(3),
    description: string(4),
    preemptionPolicy: string(5).oneOf("Never", "PreemptLowerPriority").pointer().default("PreemptLowerPriority"),
  },
});
export interface PriorityClass extends Infer<typeof PriorityClass> {}
