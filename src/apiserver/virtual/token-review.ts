// Upstream: pkg/registry/authentication/tokenreview/storage.go.
import { TokenReview } from "#api/authentication/v1/token-review.ts";
import { TokenError } from "#serving/authentication.ts";
import { badRequest } from "#wire/status.ts";
import type { VirtualHandler } from "../served-resource.ts";
import type { VirtualParts } from "./list.ts";
import { decodeOwnedReview, refuseInvalid, reviewResponse, userInfo } from "./review.ts";

/** Whose token it is, as the server's own authenticators see it. */
export const tokenReview =
  ({ authenticateToken, clock }: Pick<VirtualParts, "authenticateToken" | "clock">): VirtualHandler =>
  async (request) => {
    const { object, warnings } = await decodeOwnedReview(request, TokenReview, clock);
    if (!object.spec?.token) throw badRequest("token is required for TokenReview in authentication");
    refuseInvalid(TokenReview, object);
    const status = await statusOf(object.spec.token, object.spec.audiences ?? []);
    return reviewResponse(TokenReview, { ...object, status }, warnings);

    async function statusOf(token: string, wanted: readonly string[]): Promise<object> {
      try {
        const { user, audiences } = await authenticateToken(token, wanted);
        return { authenticated: true, user: userInfo(user), audiences };
      } catch (error) {
        if (error instanceof TokenError) return { user: {}, error: error.message };
        throw error;
      }
    }
  };
