import { type Infer, ref, resource, struct } from "#schema/index.ts";
import { UserInfo } from "./user-info.ts";

export const SelfSubjectReviewStatus = struct("authentication/v1.SelfSubjectReviewStatus", {
  userInfo: ref(1, UserInfo, "Who is asking.").default({}),
});
export interface SelfSubjectReviewStatus extends Infer<typeof SelfSubjectReviewStatus> {}

export const SelfSubjectReview = resource({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "SelfSubjectReview",
  plural: "selfsubjectreviews",
  scope: "Cluster",
  verbs: ["create"],
  stored: false,
  doc: "Tells who the server takes you for.",
  fields: {
    status: ref(2, SelfSubjectReviewStatus, "The answer.").default({}),
  },
});
export interface SelfSubjectReview extends Infer<typeof SelfSubjectReview> {}
