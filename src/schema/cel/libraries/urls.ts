// URLs. Follows apiserver/pkg/cel/library/urls.go and Go's net/url.
import { isRequestUri } from "../../structural/request-uri.ts";
import { fn, global, type Library, member } from "../declarations.ts";
import { boolType, listType, mapType, stringType, structType } from "../types.ts";
import { fail } from "../values/failure.ts";
import { listOf } from "../values/list.ts";
import { EntryMap } from "../values/map.ts";
import type { OpaqueValue } from "../values/value.ts";

export const urlType = structType("kubernetes.URL");

export class UrlValue implements OpaqueValue {
  readonly kind = "opaque";
  readonly type = urlType;
  readonly text: string;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(text: string) {
    const [withoutFragment = ""] = text.split("#", 1);
    const match = /^([A-Za-z][A-Za-z0-9+.-]*)?:?(?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/s.exec(withoutFragment);
    this.text = text;
    this.scheme = (match?.[1] ?? "").toLowerCase();
    this.host = (match?.[2] ?? "").replace(/^.*@/, "");
    this.path = match?.[3] ?? "";
    this.query = match?.[4] ?? "";
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }

  /** The host without its port and the brackets of IPv6. */
  get hostname(): string {
    return this.host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
  }

  get port(): string {
    return /:(\d*)$/.exec(this.host)?.[1] ?? "";
  }
}

function toUrl(text: string): UrlValue {
  if (isRequestUri(text)) return new UrlValue(text);
  return fail(`URL parse error during conversion from string: ${urlProblem(text)}`);
}

/** Go's words. */
export function urlProblem(text: string): string {
  const problem =
    text === "" ? "empty url" : text.startsWith(":") ? "missing protocol scheme" : "invalid URI for request";
  return `parse ${JSON.stringify(text)}: ${problem}`;
}

/** What Go leaves in a path as it is; all else is escaped. */
function escapedPath(path: string): string {
  const isEscapedAlready = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@[\]/]|%[0-9A-Fa-f]{2})*$/.test(path);
  return isEscapedAlready
    ? path
    : encodeURI(unescapeText(path))
        .replaceAll("[", "%5B")
        .replaceAll("]", "%5D")
        .replaceAll("#", "%23")
        .replaceAll("?", "%3F");
}

function unescapeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // An escape that is no UTF-8 stays as it is written.
    return text;
  }
}

function queryOf(url: UrlValue): EntryMap {
  const values = new Map<string, string[]>();
  for (const pair of url.query.split("&")) {
    // Go drops pairs with a semicolon, and those with a percent sign that begins no escape.
    if (pair === "" || pair.includes(";") || /%(?![0-9A-Fa-f]{2})/.test(pair)) continue;
    const equals = pair.indexOf("=");
    const [key, value] = equals < 0 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
    const name = unescapeText(key.replaceAll("+", " "));
    const list = values.get(name) ?? [];
    list.push(unescapeText(value.replaceAll("+", " ")));
    values.set(name, list);
  }
  return new EntryMap([...values].map(([key, list]) => [key, listOf(list)] as const));
}

export const urls: Library = {
  types: [urlType],
  functions: [
    fn("url", global("string_to_url", [stringType], urlType, toUrl)),
    fn("isURL", global("is_url_string", [stringType], boolType, isRequestUri)),
    fn(
      "getScheme",
      member("url_get_scheme", [urlType], stringType, (url: UrlValue) => url.scheme),
    ),
    fn(
      "getHost",
      member("url_get_host", [urlType], stringType, (url: UrlValue) => url.host),
    ),
    fn(
      "getHostname",
      member("url_get_hostname", [urlType], stringType, (url: UrlValue) => url.hostname),
    ),
    fn(
      "getPort",
      member("url_get_port", [urlType], stringType, (url: UrlValue) => url.port),
    ),
    fn(
      "getEscapedPath",
      member("url_get_escaped_path", [urlType], stringType, (url: UrlValue) => escapedPath(url.path)),
    ),
    fn("getQuery", member("url_get_query", [urlType], mapType(stringType, listType(stringType)), queryOf)),
  ],
};
