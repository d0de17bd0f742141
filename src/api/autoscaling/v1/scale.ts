import { type Infer, int32, ref, resource, string, struct } from "#schema/index.ts";

export const ScaleSpec = struct("autoscaling/v1.ScaleSpec", {
  replicas: int32(1).default(0),
});
export interface ScaleSpec extends Infer<typeof ScaleSpec> {}

export const ScaleStatus = struct("autoscaling/v1.ScaleStatus", {
  replicas: int32(1).required(),
  selector: string(2),
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
  doc: "",
  fields: {
    spec: ref(2, ScaleSpec).default({}),
    status: ref(3, ScaleStatus).default({}),
  },
});
export interface Scale extends Infer<typeof Scale> {}
