import { bool, type Infer, list, ref, resource, string, struct } from "#schema/index.ts";
import { UserInfo } from "./user-info.ts";

export const TokenReviewSpec = struct("authentication/v1.TokenReviewSpec", {
  token: string(1).required().omitEmpty(),
  audiences: list(2, "string"),
});
export interface TokenReviewSpec extends Infer<typeof TokenReviewSpec> {}

export const TokenReviewStatus = struct("authentication/v1.TokenReviewStatus", {
  authenticated: bool(1),
  user: ref(2, UserInfo).default({}),
  audiences: list(4, "string"),
  error: string(3),
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
  doc: "",
  fields: {
    spec: ref(2, TokenReviewSpec).required(),
    status: ref(3, TokenReviewStatus).default({}),
  },
});
export interface TokenReview extends Infer<typeof TokenReview> {}
