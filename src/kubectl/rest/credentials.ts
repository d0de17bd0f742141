// What proves who one is: certificates, tokens and passwords of the kubeconfig, and those who give them out.
import { readFileSync } from "node:fs";
import { isObject } from "#base/is-object.ts";
import type { KubeUser } from "#client/kubeconfig.ts";
import { KubectlError } from "../errors.ts";

/** What proves who one is, for some time. */
export interface IssuedCredentials {
  readonly cert?: string;
  readonly key?: string;
  /** The value of the Authorization header. */
  readonly authorization?: string;
  /** In milliseconds since 1970; absent if they last. */
  readonly expiresAt?: number;
}

export interface CredentialIssuer {
  /** Those to use now. Rejects with KubectlError. */
  current(): Promise<IssuedCredentials>;
  /** The server did not take them: the next ones are new. */
  refused(): void;
}

/** What the kubeconfig itself holds. Throws KubectlError. */
export function staticCredentials(user: KubeUser): IssuedCredentials {
  const cert = pem(user, "client-certificate");
  const key = pem(user, "client-key");
  const authorization = authorizationOf(user);
  return {
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(authorization !== undefined && { authorization }),
  };
}

/** What stands in the file itself counts before the file it names. */
export function pem(entry: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const data = entry[`${field}-data`];
  if (typeof data === "string" && data !== "") return Buffer.from(data, "base64").toString();
  const path = entry[field];
  if (typeof path !== "string" || path === "") return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new KubectlError(
      `unable to read ${field} ${path}: ${(cause as NodeJS.ErrnoException).code === "ENOENT" ? `open ${path}: no such file or directory` : String(cause)}`,
      { cause },
    );
  }
}

function authorizationOf({ token, tokenFile, username, password }: KubeUser): string | undefined {
  if (token) return `Bearer ${token}`;
  if (tokenFile) return `Bearer ${readFileSync(tokenFile, "utf8").trim()}`;
  if (username) return `Basic ${Buffer.from(`${username}:${password ?? ""}`).toString("base64")}`;
  return undefined;
}

/** Headers by which one acts as another user. */
export function impersonationHeaders(user: KubeUser): Readonly<Record<string, string | readonly string[]>> {
  if (typeof user.as !== "string" || user.as === "") return {};
  const headers: Record<string, string | readonly string[]> = { "impersonate-user": user.as };
  if (typeof user["as-uid"] === "string") headers["impersonate-uid"] = user["as-uid"];
  const groups = user["as-groups"];
  if (Array.isArray(groups)) headers["impersonate-group"] = groups.map(String);
  const extra = user["as-user-extra"];
  if (isObject(extra))
    for (const [name, values] of Object.entries(extra))
      headers[`impersonate-extra-${encodeURIComponent(name)}`] = [values].flat().map(String);
  return headers;
}
