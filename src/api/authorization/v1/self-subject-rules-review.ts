import { bool, type Infer, list, ref, resource, string, struct } from "#schema/index.ts";

export const NonResourceRule = struct("authorization/v1.NonResourceRule", {
  verbs: list(1, "string").required(),
  nonResourceURLs: list(2, "string"),
});
export interface NonResourceRule extends Infer<typeof NonResourceRule> {}

export const ResourceRule = struct("authorization/v1.ResourceRule", {
  verbs: list(1, "string").required(),
  apiGroups: list(2, "string"),
  resources: list(3, "string"),
  resourceNames: list(4, "string"),
});
export interface ResourceRule extends Infer<typeof ResourceRule> {}

export const SelfSubjectRulesReviewSpec = struct("authorization/v1.SelfSubjectRulesReviewSpec", {
  namespace: string(1),
});
export interface SelfSubjectRulesReviewSpec extends Infer<typeof SelfSubjectRulesReviewSpec> {}

export const SubjectRulesReviewStatus = struct("authorization/v1.SubjectRulesReviewStatus", {
  resourceRules: list(1, ResourceRule).required(),
  nonResourceRules: list(2, NonResourceRule).required(),
  incomplete: bool(3).required(),
  evaluationError: string(4),
});
export interface SubjectRulesReviewStatus extends Infer<typeof SubjectRulesReviewStatus> {}

export const SelfSubjectRulesReview = resource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectRulesReview",
  plural: "selfsubjectrulesreviews",
  scope: "Cluster",
  verbs: ["create"],
  stored: false,
  doc: "",
  fields: {
    spec: ref(2, SelfSubjectRulesReviewSpec).required(),
    status: ref(3, SubjectRulesReviewStatus).default({}),
  },
});
export interface SelfSubjectRulesReview extends Infer<typeof SelfSubjectRulesReview> {}
