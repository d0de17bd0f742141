import { type Infer, list, map, string, struct } from "#schema/index.ts";
import { roundUpAmounts } from "./defaults.ts";

export const ResourceClaim = struct(
  "core/v1.ResourceClaim",
  {
    name: string(1, "Name of an entry in the pod's resourceClaims.").required(),
    request: string(2, "Name of one request of that claim; all of them when left out."),
  },
  { doc: "A claim of the pod that a container uses." },
);
export interface ResourceClaim extends Infer<typeof ResourceClaim> {}

export const ResourceRequirements = struct(
  "core/v1.ResourceRequirements",
  {
    limits: map(1, "quantity", "The most that may be used of each resource."),
    requests: map(2, "quantity", "What is set aside of each resource; the limits when left out."),
    claims: list(3, ResourceClaim, "Claims of the pod that are used here.").keyedBy("name").patch("replace"),
  },
  {
    doc: "How much of each resource is needed, and how much is allowed.",
    complete(value): void {
      roundUpAmounts(value.limits);
      roundUpAmounts(value.requests);
    },
  },
);
export interface ResourceRequirements extends Infer<typeof ResourceRequirements> {}

export const VolumeResourceRequirements = struct(
  "core/v1.VolumeResourceRequirements",
  {
    limits: map(1, "quantity", "The most storage the claim may get."),
    requests: map(2, "quantity", "The least storage the claim needs."),
  },
  {
    doc: "How much storage is needed.",
    complete(value): void {
      roundUpAmounts(value.limits);
      roundUpAmounts(value.requests);
    },
  },
);
export interface VolumeResourceRequirements extends Infer<typeof VolumeResourceRequirements> {}
