import { bool, type Infer, list, ref, string, struct } from "#schema/index.ts";
import { FieldSelectorRequirement } from "../../meta/field-selector.ts";
import { LabelSelectorRequirement } from "../../meta/label-selector.ts";

export const FieldSelectorAttributes = struct("authorization/v1.FieldSelectorAttributes", {
  rawSelector: string(1),
  requirements: list(2, FieldSelectorRequirement),
});
export interface FieldSelectorAttributes extends Infer<typeof FieldSelectorAttributes> {}

export const LabelSelectorAttributes = struct("authorization/v1.LabelSelectorAttributes", {
  rawSelector: string(1),
  requirements: list(2, LabelSelectorRequirement),
});
export interface LabelSelectorAttributes extends Infer<typeof LabelSelectorAttributes> {}

export const NonResourceAttributes = struct("authorization/v1.NonResourceAttributes", {
  path: string(1),
  verb: string(2),
});
export interface NonResourceAttributes extends Infer<typeof NonResourceAttributes> {}

export const ResourceAttributes = struct("authorization/v1.ResourceAttributes", {
  namespace: string(1),
  verb: string(2),
  group: string(3),
  version: string(4),
  resource: string(5),
  subresource: string(6),
  name: string(7),
  fieldSelector: ref(8, FieldSelectorAttributes),
  labelSelector: ref(9, LabelSelectorAttributes),
});
export interface ResourceAttributes extends Infer<typeof ResourceAttributes> {}

export const SubjectAccessReviewStatus = struct("authorization/v1.SubjectAccessReviewStatus", {
  allowed: bool(1).required(),
  denied: bool(4),
  reason: string(2),
  evaluationError: string(3),
});
export interface SubjectAccessReviewStatus extends Infer<typeof SubjectAccessReviewStatus> {}
