// Who is asking. Authenticators are tried in order; the first that knows the client wins, one that refuses ends the request.
import type { User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { unauthorized } from "#wire/status.ts";

/** Resolves with the user, or undefined if this is not for it to say. Throws ApiError 401 for credentials that are wrong. */
export type Authenticator = (request: HttpRequest) => Promise<User | undefined>;

export const authenticated = "system:authenticated";
export const anonymousUser: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };

/** Asks each in turn; a client nobody knows is anonymous, unless it brought credentials. */
export const firstOf =
  (authenticators: readonly Authenticator[]): ((request: HttpRequest) => Promise<User>) =>
  async (request) => {
    for (const authenticate of authenticators) {
      const user = await authenticate(request);
      if (user)
        return user.groups.includes(authenticated) ? user : { ...user, groups: [...user.groups, authenticated] };
    }
    if (request.headers.authorization !== undefined) throw unauthorized();
    return anonymousUser;
  };

/** Static tokens: one line each of `token,user,uid,"group,group"`. Throws an Error that names the line at fault. */
export function tokenAuthenticator(csv: string): Authenticator {
  const users = new Map<string, User>();
  for (const [index, line] of csv.split("\n").entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [token, name, uid, groups] = [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map((match) =>
      (match[1] ?? match[2] ?? "").trim(),
    );
    if (!token || !name || uid === undefined)
      throw new Error(`token file, line ${index + 1}: expected token,user,uid and, if wanted, groups`);
    users.set(token, {
      name,
      ...(uid && { uid }),
      groups: groups ? groups.split(",").map((group) => group.trim()) : [],
    });
  }
  return async ({ headers }) => {
    const token = bearerToken(headers.authorization);
    return token === undefined ? undefined : users.get(token);
  };
}

export function bearerToken(authorization: string | undefined): string | undefined {
  const match = /^bearer +(\S+)$/i.exec(authorization ?? "");
  return match?.[1];
}
