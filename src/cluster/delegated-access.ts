// Who may see more of a part than its health: the API server is asked, as the part itself has no list of users.
import { TokenReview } from "#api/authentication/v1/token-review.ts";
import { SubjectAccessReview } from "#api/authorization/v1/subject-access-review.ts";
import {
  type Authenticator,
  identifyBy,
  TokenError,
  type TokenOwner,
} from "#apiserver/authentication/authenticator.ts";
import { permit, type Verdict } from "#apiserver/authorization/authorizer.ts";
import type { Client } from "#client/client.ts";
import type { User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";

/** Throws ApiError 401 or 403 unless whoever asks may do so. */
export type Guard = (request: HttpRequest) => Promise<void>;

export function delegatedAccess(client: Client, authenticators: readonly Authenticator[]): Guard {
  const identify = identifyBy({ authenticators, authenticateToken: (token) => reviewToken(client, token) });
  return async (request) => {
    const verb = request.method.toLowerCase();
    const user = await identify(request);
    const review = () => reviewAccess(client, user, verb, request.path);
    await permit(review, { type: "path", user, verb, path: request.path });
  };
}

async function reviewToken(client: Client, token: string): Promise<TokenOwner> {
  const { status } = await client.create(TokenReview, { spec: { token } });
  if (!status.authenticated) throw new TokenError(status.error || "invalid bearer token");
  const { username = "", uid, groups = [], extra } = status.user;
  const user = { name: username, groups, ...(uid !== undefined && { uid }), ...(extra && { extra }) };
  return { user, audiences: status.audiences ?? [] };
}

async function reviewAccess(client: Client, user: User, verb: string, path: string): Promise<Verdict> {
  const { name, groups, uid, extra } = user;
  const { status } = await client.create(SubjectAccessReview, {
    spec: {
      user: name,
      groups: [...groups],
      ...(uid !== undefined && { uid }),
      ...(extra && { extra }),
      nonResourceAttributes: { path, verb },
    },
  });
  return { decision: status.allowed ? "allow" : "none", ...(status.reason && { reason: status.reason }) };
}
