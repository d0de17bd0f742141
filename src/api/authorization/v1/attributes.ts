import { bool, type Infer, invalid, list, ref, required, string, struct } from "#schema/index.ts";
import { FieldSelectorRequirement } from "../../meta/field-selector.ts";
import { LabelSelectorRequirement } from "../../meta/label-selector.ts";

export const FieldSelectorAttributes = struct(
  "authorization/v1.FieldSelectorAttributes",
  {
    rawSelector: string(1, "The selector as text."),
    requirements: list(2, FieldSelectorRequirement, "The selector in parts, all of which must hold."),
  },
  {
    *check({ rawSelector = "", requirements = [] }) {
      if (rawSelector !== "" && requirements.length > 0)
        yield invalid("rawSelector", "may not specified at the same time as requirements");
      if (rawSelector === "" && requirements.length === 0)
        yield required(
          "requirements",
          "when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required",
        );
    },
  },
);
export interface FieldSelectorAttributes extends Infer<typeof FieldSelectorAttributes> {}

export const LabelSelectorAttributes = struct(
  "authorization/v1.LabelSelectorAttributes",
  {
    rawSelector: string(1, "The selector as text."),
    requirements: list(2, LabelSelectorRequirement, "The selector in parts, all of which must hold."),
  },
  {
    *check({ rawSelector = "", requirements = [] }) {
      if (rawSelector !== "" && requirements.length > 0)
        yield invalid("rawSelector", "may not specified at the same time as requirements");
      if (rawSelector === "" && requirements.length === 0)
        yield required(
          "requirements",
          "when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required",
        );
    },
  },
);
export interface LabelSelectorAttributes extends Infer<typeof LabelSelectorAttributes> {}

export const NonResourceAttributes = struct("authorization/v1.NonResourceAttributes", {
  path: string(1, "The path."),
  verb: string(2, "What is to be done."),
});
export interface NonResourceAttributes extends Infer<typeof NonResourceAttributes> {}

export const ResourceAttributes = struct("authorization/v1.ResourceAttributes", {
  namespace: string(1, "The namespace; all or none if empty."),
  verb: string(2, "What is to be done, such as get; * means anything."),
  group: string(3, "Group of the resource; * means any."),
  version: string(4, "Version of the resource; * means any."),
  resource: string(5, "The resource, such as pods; * means any."),
  subresource: string(6, "The subresource, such as log."),
  name: string(7, "Name of the object; all if empty."),
  fieldSelector: ref(8, FieldSelectorAttributes, "Only objects with these fields."),
  labelSelector: ref(9, LabelSelectorAttributes, "Only objects with these labels."),
});
export interface ResourceAttributes extends Infer<typeof ResourceAttributes> {}

export const SubjectAccessReviewStatus = struct("authorization/v1.SubjectAccessReviewStatus", {
  allowed: bool(1, "Whether it may be done.").required(),
  denied: bool(4, "Whether it may not be done, whatever others say."),
  reason: string(2, "Why."),
  evaluationError: string(3, "What went wrong on the way to the answer."),
});
export interface SubjectAccessReviewStatus extends Infer<typeof SubjectAccessReviewStatus> {}
