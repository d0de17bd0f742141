// Which headers cross a proxy, and what it adds.
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { isRequestHeader, standardRequestHeaders } from "../request-headers.ts";

const ofOneConnection = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
];
const corsHeaders = [
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
];

/**
 * A request's headers without what concerns one connection. Credentials were dropped when the request came in. How the body is framed is said
 * anew by whoever sends it, but for its length: an upgrade has no body, and one that announced any would make the other end take the beginning of
 * the next request for it. Expectations were met when the body was asked for here. Nobody behind us hears from a client who it is: what
 * says so, we say.
 */
export function passedOn(
  { headers, remoteAddress }: HttpRequest,
  { upgrades }: { readonly upgrades: boolean },
): Readonly<Record<string, string>> {
  const dropped = new Set([...ofOneConnection, "expect", ...listedIn(headers.connection)]);
  if (upgrades) dropped.add("content-length");
  else dropped.delete("content-length");
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (
      value !== undefined &&
      !dropped.has(name) &&
      !name.startsWith(":") &&
      !isRequestHeader(name, standardRequestHeaders)
    )
      kept[name] = value;
  if (upgrades && headers.upgrade !== undefined) {
    kept.connection = "Upgrade";
    kept.upgrade = headers.upgrade;
  }
  const authority = headers[":authority"];
  if (authority !== undefined) kept.host ??= authority;
  const before = headers["x-forwarded-for"];
  if (remoteAddress !== "")
    kept["x-forwarded-for"] = before === undefined ? remoteAddress : `${before}, ${remoteAddress}`;
  return kept;
}

const listedIn = (connection = ""): readonly string[] => connection.split(",").map((name) => name.trim().toLowerCase());

/** An answer's headers without what concerns one connection, or speaks for another site. */
export function passedBack(headers: HttpResponse["headers"] = {}): Record<string, string | readonly string[]> {
  const dropped = new Set([...ofOneConnection, ...corsHeaders]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
