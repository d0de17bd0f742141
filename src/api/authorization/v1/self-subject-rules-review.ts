import { bool, type Infer, list, ref, resource, string, struct } from "#schema/index.ts";

export const NonResourceRule = struct("authorization/v1.NonResourceRule", {
  verbs: list(1, "string", "What may be done.").required(),
  nonResourceURLs: list(2, "string", "At which paths."),
});
export interface NonResourceRule extends Infer<typeof NonResourceRule> {}

export const ResourceRule = struct("authorization/v1.ResourceRule", {
  verbs: list(1, "string", "What may be done.").required(),
  apiGroups: list(2, "string", "In which groups."),
  resources: list(3, "string", "To which resources."),
  resourceNames: list(4, "string", "To objects of which names; all if empty."),
});
export interface ResourceRule extends Infer<typeof ResourceRule> {}

export const SelfSubjectRulesReviewSpec = struct("authorization/v1.SelfSubjectRulesReviewSpec", {
  namespace: string(1, "The namespace asked about.").nonEmpty(),
});
export interface SelfSubjectRulesReviewSpec extends Infer<typeof SelfSubjectRulesReviewSpec> {}

export const SubjectRulesReviewStatus = struct("authorization/v1.SubjectRulesReviewStatus", {
  resourceRules: list(1, ResourceRule, "What you may do to objects.").required().keepsEmpty(),
  nonResourceRules: list(2, NonResourceRule, "What you may do at paths.").required().keepsEmpty(),
  incomplete: bool(3, "Whether there may be more.").required(),
  evaluationError: string(4, "What went wrong on the way to the answer."),
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
  doc: "Asks for all that you may do in a namespace.",
  fields: {
    spec: ref(2, SelfSubjectRulesReviewSpec, "The question.").required(),
    status: ref(3, SubjectRulesReviewStatus, "The answer.").default({}),
  },
});
export interface SelfSubjectRulesReview extends Infer<typeof SelfSubjectRulesReview> {}
