import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, int32, ref, resource, string, struct } from "#schema/index.ts";

export const ScaleSpec = struct("autoscaling/v1.ScaleSpec", {
  replicas: int32(1, "How many there should be.").min(0).default(0),
});
export interface ScaleSpec extends Infer<typeof ScaleSpec> {}

export const ScaleStatus = struct("autoscaling/v1.ScaleStatus", {
  replicas: int32(1, "How many there are.").required(),
  selector: string(2, "Which pods are counted, in the text form of selectors."),
});
export interface ScaleStatus extends Infer<typeof ScaleStatus> {}

export const Scale = resource({
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  plural: "scales",
  scope: "Namespaced",
  verbs: ["get", "patch", "update"],
  stored: false,
  doc: "The size of something that can be scaled, whatever its kind.",
  fields: {
    spec: ref(2, ScaleSpec, "What is wanted.").default({}),
    status: ref(3, ScaleStatus, "What is there.").default({}),
  },
  columns: [
    { ...nameColumn, format: "" },
    { name: "Desired", type: "integer", doc: "How many there should be.", cell: ({ spec }) => spec.replicas },
    { name: "Available", type: "integer", doc: "How many there are.", cell: ({ status }) => status.replicas },
    ageColumn,
  ],
});
export interface Scale extends Infer<typeof Scale> {}
