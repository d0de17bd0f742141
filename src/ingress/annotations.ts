// The annotations of ingress-nginx that people rely on, as options of a route.
// Follows ingress-nginx: internal/ingress/annotations/annotations.go.
import { parseCidr, parseIp } from "#schema/ip.ts";
import type { RouteOptions } from "./route-options.ts";

export interface RouteAnnotations {
  readonly annotations: Readonly<Record<string, string>>;
  readonly hasTls: boolean;
  /** The pattern of its path, if paths are patterns. */
  readonly pattern?: string;
  /** The content of a htpasswd file in a Secret. */
  readonly passwords: (secret: string) => string | undefined;
}

const prefix = "nginx.ingress.kubernetes.io/";
export const wantsPatterns = (annotations: Readonly<Record<string, string>>): boolean =>
  annotations[`${prefix}use-regex`] === "true" || /\$\d/.test(annotations[`${prefix}rewrite-target`] ?? "");

/** A value that cannot be used is told, and left out; where that would open what was to be closed, the route is closed. */
export function optionsOf(route: RouteAnnotations, problem: (text: string) => void): RouteOptions {
  const text = (name: string): string | undefined => {
    const value = route.annotations[prefix + name];
    // What goes into the proxy's configuration has no line breaks, no quotation marks, and nothing outside of ASCII.
    if (value === undefined || value === "" || /^[\x20-\x26\x28-\x7e]*$/.test(value)) return value || undefined;
    problem(`${name}: it has characters that no configuration may have`);
    return undefined;
  };
  const number = (name: string): number | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (/^\d{1,9}$/.test(value) && Number(value) > 0) return Number(value);
    problem(`${name}: ${JSON.stringify(value)} is no number`);
    return undefined;
  };
  const flag = (name: string) => text(name) === "true";
  const wantsRedirect = route.hasTls && text("ssl-redirect") !== "false";
  const options: RouteOptions = {
    sslRedirect: wantsRedirect || flag("force-ssl-redirect"),
    protocol: protocolOf(text("backend-protocol"), problem),
    ...defined("rewriteTarget", text("rewrite-target")?.replaceAll(/\$(\d)/g, "\\$1")),
    ...defined("rewritePattern", route.pattern),
    ...defined("redirect", redirectOf(text("permanent-redirect"), text("temporal-redirect"))),
    ...defined("appRoot", text("app-root")),
    ...defined("cookie", text("affinity") === "cookie" ? cookieName(text("session-cookie-name"), problem) : undefined),
    ...defined("allowed", networks(text("whitelist-source-range") ?? text("allowlist-source-range"), problem)),
    ...defined("denied", networks(text("denylist-source-range"), problem)),
    ...defined(
      "users",
      text("auth-type") === "basic" ? usersOf(route.passwords(text("auth-secret") ?? ""), problem) : undefined,
    ),
    ...defined("realm", text("auth-realm")),
    ...defined("requestsPerSecond", number("limit-rps")),
    ...defined("bodyBytes", bytesOf(text("proxy-body-size"), problem)),
    ...defined("connectSeconds", number("proxy-connect-timeout")),
    ...defined("readMs", inMs(number("proxy-read-timeout"))),
    ...defined("host", text("upstream-vhost")),
  };
  return options;
}

const defined = <N extends string, T>(name: N, value: T | undefined): { readonly [K in N]?: T } =>
  (value === undefined ? {} : { [name]: value }) as { readonly [K in N]?: T };

const inMs = (seconds: number | undefined): number | undefined => (seconds === undefined ? undefined : seconds * 1000);

function protocolOf(text: string | undefined, problem: (text: string) => void): RouteOptions["protocol"] {
  const upper = text?.toUpperCase() ?? "HTTP";
  if (upper === "HTTP" || upper === "HTTPS" || upper === "GRPC" || upper === "GRPCS") return upper;
  problem(`backend-protocol: ${JSON.stringify(text)} is none of HTTP, HTTPS, GRPC, GRPCS`);
  return "HTTP";
}

const redirectOf = (permanent?: string, temporal?: string): RouteOptions["redirect"] =>
  temporal !== undefined
    ? { location: temporal, code: 302 }
    : permanent !== undefined
      ? { location: permanent, code: 301 }
      : undefined;

function cookieName(text: string | undefined, problem: (text: string) => void): string {
  const name = text ?? "INGRESSCOOKIE";
  if (/^[\w-]{1,64}$/.test(name)) return name;
  problem(`session-cookie-name: ${JSON.stringify(name)} is no name of a cookie`);
  return "INGRESSCOOKIE";
}

/** A list with a mistake lets nobody in, rather than everybody. */
function networks(text: string | undefined, problem: (text: string) => void): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const all = text.split(",").map((one) => one.trim());
  const wrong = all.filter((one) => !parseCidr(one) && !parseIp(one));
  if (wrong.length === 0) return all;
  problem(`a list of networks: ${wrong.join(", ")} is none`);
  return ["255.255.255.255"];
}

/** Without a user nobody gets in. */
function usersOf(text: string | undefined, problem: (text: string) => void): RouteOptions["users"] {
  const lines = (text ?? "").split("\n").filter((line) => line.trim() !== "");
  const users = lines.flatMap((line) => {
    const [, name, hash] = /^([\w.@-]{1,64}):(\$[156]\$[\w./$=-]{1,200})\s*$/.exec(line) ?? [];
    return name === undefined || hash === undefined ? [] : [{ name, hash }];
  });
  if (users.length < lines.length || users.length === 0)
    problem("auth-secret: a password has to be hashed as crypt(3) does: $1$, $5$ or $6$");
  return users;
}

function bytesOf(text: string | undefined, problem: (text: string) => void): number | undefined {
  if (text === undefined || text === "0") return undefined;
  const [, amount, unit = ""] = /^(\d{1,9})([kmg]?)$/i.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * 1024 ** ["", "k", "m", "g"].indexOf(unit.toLowerCase());
  problem(`proxy-body-size: ${JSON.stringify(text)} is no size`);
  return undefined;
}
