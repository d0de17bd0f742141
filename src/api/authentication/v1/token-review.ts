import { bool, type Infer, list, ref, resource, string, struct } from "#schema/index.ts";
import { UserInfo } from "./user-info.ts";

export const TokenReviewSpec = struct("authentication/v1.TokenReviewSpec", {
  token: string(1, "The token to look at.").required().omitEmpty(),
  audiences: list(2, "string", "Who it should be for; the server if empty."),
});
export interface TokenReviewSpec extends Infer<typeof TokenReviewSpec> {}

export const TokenReviewStatus = struct("authentication/v1.TokenReviewStatus", {
  authenticated: bool(1, "Whether the token is good."),
  user: ref(2, UserInfo, "Whose token it is.").default({}),
  audiences: list(4, "string", "Which of the audiences it is good for."),
  error: string(3, "Why it could not be looked at."),
});
export interface TokenReviewStatus extends Infer<typeof TokenReviewStatus> {}

export const TokenReview = resource({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenReview",
  plural: "tokenreviews",
  scope: "Cluster",
  verbs: ["create"],
  stored: false,
  doc: "Asks whose token it is.",
  fields: {
    spec: ref(2, TokenReviewSpec, "The question.").required(),
    status: ref(3, TokenReviewStatus, "The answer.").default({}),
  },
});
export interface TokenReview extends Infer<typeof TokenReview> {}
