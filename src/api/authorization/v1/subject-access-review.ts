import { type Infer, list, map, ref, resource, string, struct } from "#schema/index.ts";
import { NonResourceAttributes, ResourceAttributes, SubjectAccessReviewStatus } from "./attributes.ts";

export const SubjectAccessReviewSpec = struct("authorization/v1.SubjectAccessReviewSpec", {
  resourceAttributes: ref(1, ResourceAttributes),
  nonResourceAttributes: ref(2, NonResourceAttributes),
  user: string(3),
  groups: list(4, "string"),
  extra: map(5, { listOf: "string" }),
  uid: string(6),
});
export interface SubjectAccessReviewSpec extends Infer<typeof SubjectAccessReviewSpec> {}

export const SubjectAccessReview = resource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  scope: "Cluster",
  verbs: ["create"],
  stored: false,
  doc: "",
  fields: {
    spec: ref(2, SubjectAccessReviewSpec).required(),
    status: ref(3, SubjectAccessReviewStatus).default({}),
  },
});
export interface SubjectAccessReview extends Infer<typeof SubjectAccessReview> {}
