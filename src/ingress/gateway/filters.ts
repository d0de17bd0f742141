// The filters and timeouts of a rule as options of a route.
import type { HeaderChanges, PathChange, RouteOptions, ServerProtocol } from "../route-options.ts";
import type { HeaderFilter, HttpRouteRule, PathModifier, RouteFilter, RouteRule } from "./kinds.ts";
import { printable, UnsupportedValue } from "./matches.ts";

/** Throws UnsupportedValue for what the proxy cannot do. */
export function ruleOptions(rule: RouteRule & HttpRouteRule, protocol: ServerProtocol): RouteOptions {
  const refs = rule.backendRefs ?? [];
  // Which server a request goes to is decided after its headers were changed.
  if (refs.length > 1 && refs.some(({ filters = [] }) => filters.length > 0))
    throw new UnsupportedValue("filters of one backend among several are not supported");
  const filters = [...(rule.filters ?? []), ...(refs[0]?.filters ?? [])];
  const [prefix] = (rule.matches ?? []).map(({ path }) => path?.value ?? "/");
  const parts = filters.map((filter) => filterOptions(filter, prefix ?? "/"));
  const readMs = timeoutMs(rule.timeouts);
  return {
    sslRedirect: false,
    protocol,
    ...Object.assign({}, ...parts),
    ...(readMs !== undefined && { readMs }),
  };
}

function filterOptions(filter: RouteFilter, prefix: string): Partial<RouteOptions> {
  const { requestHeaderModifier, responseHeaderModifier, requestRedirect, urlRewrite } = filter;
  if (filter.type === "RequestHeaderModifier" && requestHeaderModifier)
    return { requestHeaders: headerChanges(requestHeaderModifier) };
  if (filter.type === "ResponseHeaderModifier" && responseHeaderModifier)
    return { responseHeaders: headerChanges(responseHeaderModifier) };
  if (filter.type === "RequestRedirect" && requestRedirect) {
    const { scheme, hostname, port, statusCode = 302, path } = requestRedirect;
    const location = {
      ...(scheme && { scheme }),
      ...(hostname !== undefined && { hostname }),
      ...(port !== undefined && { port }),
      code: statusCode,
    };
    return { location, ...(path && { path: pathChange(path, prefix) }) };
  }
  if (filter.type === "URLRewrite" && urlRewrite) {
    const { hostname, path } = urlRewrite;
    return { ...(hostname !== undefined && { host: hostname }), ...(path && { path: pathChange(path, prefix) }) };
  }
  throw new UnsupportedValue(`the filter ${filter.type} is not supported`);
}

const headerChanges = ({ set = [], add = [], remove = [] }: HeaderFilter): HeaderChanges => {
  const values = (all: NonNullable<HeaderFilter["set"]>) =>
    all.map(({ name, value }) => ({ name: printable(name), value: printable(value, " ") }));
  return { set: values(set), add: values(add), remove: remove.map((name) => printable(name)) };
};

const pathChange = (
  { type, replaceFullPath = "", replacePrefixMatch = "" }: PathModifier,
  prefix: string,
): PathChange =>
  type === "ReplaceFullPath"
    ? { full: printable(replaceFullPath) }
    : { prefix: printable(prefix), replacement: printable(replacePrefixMatch) };

/** How long a server may take: the shorter of both. Zero is for ever. */
function timeoutMs(timeouts: HttpRouteRule["timeouts"]): number | undefined {
  const said = [timeouts?.request, timeouts?.backendRequest].filter((text) => text !== undefined).map(durationMs);
  if (said.length === 0) return undefined;
  const limits = said.filter((ms) => ms > 0);
  return limits.length > 0 ? Math.min(...limits) : longestMs;
}

/** What the proxy takes as a time at most, or nearly. */
const longestMs = 24 * 24 * 60 * 60 * 1000;
const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

const durationMs = (text: string): number =>
  [...text.matchAll(/(\d+)(ms|h|m|s)/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (unitMs[unit ?? ""] ?? 0),
    0,
  );
