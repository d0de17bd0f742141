import { type Infer, ref, resource, struct } from "#schema/index.ts";
import { NonResourceAttributes, ResourceAttributes, SubjectAccessReviewStatus } from "./attributes.ts";

export const SelfSubjectAccessReviewSpec = struct("authorization/v1.SelfSubjectAccessReviewSpec", {
  resourceAttributes: ref(1, ResourceAttributes),
  nonResourceAttributes: ref(2, NonResourceAttributes),
});
export interface SelfSubjectAccessReviewSpec extends Infer<typeof SelfSubjectAccessReviewSpec> {}

export const SelfSubjectAccessReview = resource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  scope: "Cluster",
  verbs: ["create"],
  stored: false,
  doc: "",
  fields: {
    spec: ref(2, SelfSubjectAccessReviewSpec).required(),
    status: ref(3, SubjectAccessReviewStatus).default({}),
  },
});
export interface SelfSubjectAccessReview extends Infer<typeof SelfSubjectAccessReview> {}
