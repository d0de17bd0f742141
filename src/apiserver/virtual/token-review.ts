import { TokenReview } from "#api/authentication/v1/token-review.ts";
import { ApiError } from "#base/errors.ts";
import type { User } from "#wire/api-request.ts";
import { badRequest } from "#wire/status.ts";
import type { VirtualHandler } from "../served-resource.ts";
import type { VirtualParts } from "./list.ts";
import { answered, asked, refuseInvalid, userInfo } from "./review.ts";

/** Whose token it is, as the server's own authenticators see it: nothing but the token is shown to them. */
export const tokenReview =
  ({ identify }: Pick<VirtualParts, "identify">): VirtualHandler =>
  async (request) => {
    const { object, warnings } = asked(request, TokenReview);
    if (!object.spec?.token) throw badRequest("token is required for TokenReview in authentication");
    refuseInvalid(TokenReview, object);
    const user = await ownerOf(object.spec.token);
    const status = user ? { authenticated: true, user: userInfo(user) } : { user: {}, error: "invalid bearer token" };
    return answered(TokenReview, { ...object, status }, warnings);

    async function ownerOf(token: string): Promise<User | undefined> {
      try {
        return await identify({
          method: "POST",
          path: "/",
          url: "/",
          query: new URLSearchParams(),
          headers: { authorization: `Bearer ${token}` },
          body: async () => new Uint8Array(),
          content: nothing(),
          clientCertificate: undefined,
          remoteAddress: "",
          signal: request.signal,
        });
      } catch (error) {
        if (error instanceof ApiError && error.code === 401) return undefined;
        throw error;
      }
    }
  };

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield* [];
}
