// Who knows whose tokens these are. All who do are asked in order.
import {
  type Authenticator,
  asAuthenticated,
  authenticated,
  TokenError,
  type TokenOwner,
} from "#serving/authentication.ts";
import type { User } from "#wire/api-request.ts";
import { parseUserFile } from "./user-file.ts";

/** Resolves with the owner, or undefined if this is not for it to say. Throws TokenError for one of its tokens that is not good. */
export type TokenAuthenticator = (token: string, audiences: readonly string[]) => Promise<TokenOwner | undefined>;

/** No token of ours is nearly as long; longer ones are not worth a look. */
const longestToken = 32 * 1024;

/** Asks all who know tokens. Throws TokenError if nobody finds it good. */
export const anyToken =
  (
    authenticators: readonly TokenAuthenticator[],
  ): ((token: string, audiences: readonly string[]) => Promise<TokenOwner>) =>
  async (token, audiences) => {
    const errors: string[] = [];
    for (const authenticate of token.length > longestToken ? [] : authenticators) {
      try {
        const owner = await authenticate(token, audiences);
        if (owner) return { ...owner, user: asAuthenticated(owner.user) };
      } catch (error) {
        if (!(error instanceof TokenError)) throw error;
        errors.push(error.message);
      }
    }
    throw new TokenError(errors.join(", ") || "invalid bearer token");
  };

/** Static tokens, good for the server itself: one line each of `token,user,uid,"group,group"`. Throws an Error that names the line at fault. */
export function staticTokens(csv: string, audiences: readonly string[]): TokenAuthenticator {
  const users = new Map(parseUserFile(csv, "token").map(({ secret, user }) => [secret, user]));
  return async (token, asked) => {
    const user = users.get(token);
    const both = audiences.filter((audience) => asked.includes(audience));
    return user && both.length > 0 ? { user, audiences: both } : undefined;
  };
}

/** Whoever comes by the insecure port, as upstream had it while it had one: may do everything, whatever else it shows. */
const unsecuredUser: User = { name: "system:unsecured", groups: ["system:masters", authenticated] };
export const unsecured: Authenticator = ({ isUnsecured }) => (isUnsecured ? unsecuredUser : undefined);
