import { type Infer, list, map, string, struct } from "#schema/index.ts";

export const ResourceClaim = struct("core/v1.ResourceClaim", {
  name: string(1).required(),
  request: string(2),
});
export interface ResourceClaim extends Infer<typeof ResourceClaim> {}

export const ResourceRequirements = struct("core/v1.ResourceRequirements", {
  limits: map(1, "quantity"),
  requests: map(2, "quantity"),
  claims: list(3, ResourceClaim).keyedBy("name").patch("replace"),
});
export interface ResourceRequirements extends Infer<typeof ResourceRequirements> {}

export const VolumeResourceRequirements = struct("core/v1.VolumeResourceRequirements", {
  limits: map(1, "quantity"),
  requests: map(2, "quantity"),
});
export interface VolumeResourceRequirements extends Infer<typeof VolumeResourceRequirements> {}
