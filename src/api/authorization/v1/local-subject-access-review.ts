import { type Infer, invalid, ref, resource } from "#schema/index.ts";
import { SubjectAccessReviewStatus } from "./attributes.ts";
import { checkNoMetadata } from "./checks.ts";
import { SubjectAccessReviewSpec } from "./subject-access-review.ts";

export const LocalSubjectAccessReview = resource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "LocalSubjectAccessReview",
  plural: "localsubjectaccessreviews",
  scope: "Namespaced",
  verbs: ["create"],
  stored: false,
  doc: "Asks whether somebody may do something within one namespace.",
  fields: {
    spec: ref(2, SubjectAccessReviewSpec, "The question.").required(),
    status: ref(3, SubjectAccessReviewStatus, "The answer.").default({}),
  },
  *check({ metadata, spec }) {
    yield* checkNoMetadata(metadata, "namespace");
    const { resourceAttributes, nonResourceAttributes } = spec;
    if (resourceAttributes && (resourceAttributes.namespace ?? "") !== metadata.namespace)
      yield invalid(
        "spec.resourceAttributes.namespace",
        "must match metadata.namespace",
        resourceAttributes.namespace ?? "",
      );
    if (nonResourceAttributes) yield invalid("spec.nonResourceAttributes", "disallowed on this kind of request");
  },
});
export interface LocalSubjectAccessReview extends Infer<typeof LocalSubjectAccessReview> {}
