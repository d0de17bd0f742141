import { type Infer, ref, resource } from "#schema/index.ts";
import { SubjectAccessReviewStatus } from "./attributes.ts";
import { SubjectAccessReviewSpec } from "./subject-access-review.ts";

export const LocalSubjectAccessReview = resource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "LocalSubjectAccessReview",
  plural: "localsubjectaccessreviews",
  scope: "Namespaced",
  verbs: ["create"],
  stored: false,
  doc: "",
  fields: {
    spec: ref(2, SubjectAccessReviewSpec).required(),
    status: ref(3, SubjectAccessReviewStatus).default({}),
  },
});
export interface LocalSubjectAccessReview extends Infer<typeof LocalSubjectAccessReview> {}
