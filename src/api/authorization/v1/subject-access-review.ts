import { type Infer, invalid, list, map, ref, resource, string, struct } from "#schema/index.ts";
import { NonResourceAttributes, ResourceAttributes, SubjectAccessReviewStatus } from "./attributes.ts";
import { checkAccess, checkNoMetadata } from "./checks.ts";

export const SubjectAccessReviewSpec = struct(
  "authorization/v1.SubjectAccessReviewSpec",
  {
    resourceAttributes: ref(1, ResourceAttributes, "What is to be done to objects."),
    nonResourceAttributes: ref(2, NonResourceAttributes, "What is to be done at a path."),
    user: string(3, "Who wants to do it."),
    groups: list(4, "string", "Groups of who wants to do it."),
    extra: map(5, { listOf: "string" }, "More about who wants to do it."),
    uid: string(6, "Uid of who wants to do it."),
  },
  {
    *check(spec) {
      yield* checkAccess(spec);
      if (!spec.user && (spec.groups ?? []).length === 0)
        yield invalid("user", "at least one of user or group must be specified", "");
    },
  },
);
export interface SubjectAccessReviewSpec extends Infer<typeof SubjectAccessReviewSpec> {}

export const SubjectAccessReview = resource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  scope: "Cluster",
  verbs: ["create"],
  stored: false,
  doc: "Asks whether somebody may do something.",
  fields: {
    spec: ref(2, SubjectAccessReviewSpec, "The question.").required(),
    status: ref(3, SubjectAccessReviewStatus, "The answer.").default({}),
  },
  *check({ metadata }) {
    yield* checkNoMetadata(metadata);
  },
});
export interface SubjectAccessReview extends Infer<typeof SubjectAccessReview> {}
