// The headers in which one server tells another whom it asks for. Who sends them must be known by its certificate; from anybody else they are
// taken away.
import type { User } from "#wire/api-request.ts";

export interface RequestHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefixes: readonly string[];
}

/** Whose word is taken for who asks: of clients with a certificate of this authority, in these headers. */
export interface RequestHeaderTrust {
  /** In PEM. */
  readonly clientCa: string;
  readonly names: RequestHeaderNames;
  /** Names of clients that are believed; none means all that the authority has signed. */
  readonly allowedNames: readonly string[];
}

/** As headers are compared. */
export const inLowerCase = ({ username, uid, group, extraPrefixes }: RequestHeaderNames): RequestHeaderNames => ({
  username: username.map((name) => name.toLowerCase()),
  uid: uid.map((name) => name.toLowerCase()),
  group: group.map((name) => name.toLowerCase()),
  extraPrefixes: extraPrefixes.map((name) => name.toLowerCase()),
});

/** Those that are always sent, whatever else is believed. */
export const standardRequestHeaders: RequestHeaderNames = {
  username: ["x-remote-user"],
  uid: ["x-remote-uid"],
  group: ["x-remote-group"],
  extraPrefixes: ["x-remote-extra-"],
};

/** Whether a header would tell who asks. All names are in lower case. */
export function isRequestHeader(name: string, names: RequestHeaderNames): boolean {
  const { username, uid, group, extraPrefixes } = names;
  if ([username, uid, group].some((all) => all.includes(name))) return true;
  return extraPrefixes.some((prefix) => name.startsWith(prefix));
}

/** What tells another server who asks. Values that no header can carry are refused where they are sent. */
export function requestHeadersOf({ name, uid, groups, extra = {} }: User): Record<string, string | readonly string[]> {
  return {
    "x-remote-user": name,
    ...(uid !== undefined && { "x-remote-uid": uid }),
    ...(groups.length > 0 && { "x-remote-group": groups }),
    ...Object.fromEntries(
      Object.entries(extra)
        .filter(([, values]) => values.length > 0)
        .map(([key, values]) => [`x-remote-extra-${escaped(key)}`, values]),
    ),
  };
}

/** Letters that a header's name may hold stay; all others, and the escape itself, are escaped. */
const escaped = (key: string): string =>
  Array.from(new TextEncoder().encode(key), (byte) => {
    const letter = String.fromCharCode(byte);
    return /[!#$&'*+\-.^_`|~0-9A-Za-z]/.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");

/** The key of a user's extra as it was before it was put into the name of a header; one that is not escaped properly is taken as it is. */
export function unescapedKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
