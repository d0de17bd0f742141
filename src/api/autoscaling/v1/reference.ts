import { type Infer, string, struct } from "#schema/index.ts";

export const CrossVersionObjectReference = struct(
  "autoscaling/v1.CrossVersionObjectReference",
  {
    kind: string(1, "Kind of the object.").required(),
    name: string(2, "Name of the object.").required(),
    apiVersion: string(3, "Group and version of the object."),
  },
  { atomic: true },
);
export interface CrossVersionObjectReference extends Infer<typeof CrossVersionObjectReference> {}
