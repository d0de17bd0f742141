// Names and passwords, as the first releases of Kubernetes took them with --basic-auth-file; upstream has them no more.
import { fromBase64 } from "#base/base64.ts";
import { type Authenticator, refused } from "#serving/authentication.ts";
import { isSameText } from "./same-text.ts";
import { parseUserFile } from "./user-file.ts";

/** Lines of `password,user,uid,"group,group"`. Throws an Error that names the line at fault. */
export function basicPasswords(csv: string): Authenticator {
  const users = new Map(parseUserFile(csv, "password").map((listed) => [listed.user.name, listed]));
  return ({ headers: { authorization } }) => {
    const shown = authorization === undefined ? undefined : basicCredentials(authorization);
    if (!shown) return undefined;
    const listed = users.get(shown.name);
    // A name that is unknown takes as long as a password that is wrong.
    const isRight = isSameText(listed?.secret ?? shown.password, shown.password);
    return listed && isRight ? listed.user : refused;
  };
}

/** Undefined of another scheme, and of what is not written as it must be. */
export function basicCredentials(
  authorization: string,
): { readonly name: string; readonly password: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/=]+)$/i.exec(authorization.trim())?.[1];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  if (!bytes) return undefined;
  const text = new TextDecoder().decode(bytes);
  const colon = text.indexOf(":");
  return colon < 0 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}
