import { type Infer, ref, resource, struct } from "#schema/index.ts";
import { NonResourceAttributes, ResourceAttributes, SubjectAccessReviewStatus } from "./attributes.ts";
import { checkAccess, checkNoMetadata } from "./checks.ts";

export const SelfSubjectAccessReviewSpec = struct(
  "authorization/v1.SelfSubjectAccessReviewSpec",
  {
    resourceAttributes: ref(1, ResourceAttributes, "What is to be done to objects."),
    nonResourceAttributes: ref(2, NonResourceAttributes, "What is to be done at a path."),
  },
  {
    *check(spec) {
      yield* checkAccess(spec);
    },
  },
);
export interface SelfSubjectAccessReviewSpec extends Infer<typeof SelfSubjectAccessReviewSpec> {}

export const SelfSubjectAccessReview = resource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  scope: "Cluster",
  verbs: ["create"],
  stored: false,
  doc: "Asks whether you may do something.",
  fields: {
    spec: ref(2, SelfSubjectAccessReviewSpec, "The question.").required(),
    status: ref(3, SubjectAccessReviewStatus, "The answer.").default({}),
  },
  *check({ metadata }) {
    yield* checkNoMetadata(metadata);
  },
});
export interface SelfSubjectAccessReview extends Infer<typeof SelfSubjectAccessReview> {}
