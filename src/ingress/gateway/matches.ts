// What a request must be for a rule to apply, and which of several rules counts: that of the exact path, then that of a pattern, then
// that of the longest prefix; among these, the one that asks for a method, for more headers, for more query parameters.
// Of gRPC: that of the longer service, the longer method, the more headers.
import { isPattern } from "../patterns.ts";
import type { RouteMatch, ValueMatch } from "../proxy-state.ts";
import type { GrpcMatch, HttpMatch, NamedMatch } from "./kinds.ts";

export interface RankedMatch {
  readonly match: RouteMatch;
  /** Compared from the first number on; the larger counts. */
  readonly rank: readonly number[];
  /** Whether maps of paths find the same as the ranks say. */
  readonly isPlain: boolean;
}

/** Thrown for what cannot be matched; the message is for a condition. */
export class UnsupportedValue extends Error {
  override readonly name = "UnsupportedValue";
}

const pathRank = { Exact: 2, Pattern: 1, Prefix: 0 } as const;

export function httpMatch({ path = {}, method, headers = [], queryParams = [] }: HttpMatch): RankedMatch {
  const { type = "PathPrefix", value = "/" } = path;
  const own =
    type === "Exact"
      ? { type: "Exact" as const, value: printable(value) }
      : type === "PathPrefix"
        ? { type: "Prefix" as const, value: printable(value).replace(/\/+$/, "") || "/" }
        : { type: "Pattern" as const, value: pattern(value) };
  const match = {
    path: own,
    ...(method !== undefined && { method }),
    headers: firstOfEach(headers, (name) => name.toLowerCase()).map(valueMatch),
    query: firstOfEach(queryParams, (name) => name).map(valueMatch),
  };
  const asks = [method === undefined ? 0 : 1, match.headers.length, match.query.length];
  return {
    match,
    rank: [pathRank[own.type], own.value.length, ...asks],
    isPlain: asks.every((count) => count === 0),
  };
}

export function grpcMatch({ method = {}, headers = [] }: GrpcMatch): RankedMatch {
  const { type = "Exact", service = "", method: call = "" } = method;
  const path = grpcPath(type === "RegularExpression", service, call);
  const match = { path, headers: firstOfEach(headers, (name) => name.toLowerCase()).map(valueMatch), query: [] };
  return {
    match,
    rank: [service.length, call.length, match.headers.length],
    isPlain: match.headers.length === 0 && path.type !== "Pattern",
  };
}

function grpcPath(isExpression: boolean, service: string, call: string): RouteMatch["path"] {
  if (isExpression)
    return { type: "Pattern", value: `/(?:${pattern(service || "[^/]+")})/(?:${pattern(call || "[^/]+")})` };
  if (service === "" && call === "") return { type: "Prefix", value: "/" };
  if (service === "") return { type: "Pattern", value: `/[^/]+/${printable(call)}` };
  if (call === "") return { type: "Prefix", value: `/${printable(service)}` };
  return { type: "Exact", value: printable(`/${service}/${call}`) };
}

/** For sorting: negative if the first counts before the second. */
export function compareRanks(one: readonly number[], other: readonly number[]): number {
  for (const [i, number] of one.entries()) if (number !== other[i]) return (other[i] ?? 0) - number;
  return 0;
}

/** Of a name that comes twice, the first counts. */
const firstOfEach = (all: readonly NamedMatch[], key: (name: string) => string): readonly NamedMatch[] =>
  all.filter(({ name }, i) => all.findIndex((other) => key(other.name) === key(name)) === i);

function valueMatch({ name, value, type = "Exact" }: NamedMatch): ValueMatch {
  const isExpression = type === "RegularExpression";
  return {
    name: printable(name),
    value: isExpression ? pattern(value) : printable(value, " "),
    isPattern: isExpression,
  };
}

/** Within ASCII, and without line breaks: else the configuration of the proxy would have another meaning. */
export function printable(text: string, also = ""): string {
  if (/^[\x20-\x7e]*$/.test(text) && (also === " " || !text.includes(" "))) return text;
  throw new UnsupportedValue(`${JSON.stringify(text)} has characters that no route may have`);
}

/** A space would end the key of a map. */
function pattern(text: string): string {
  const own = printable(text, " ").replaceAll(" ", "\\x20");
  if (isPattern(own)) return own;
  throw new UnsupportedValue(`${JSON.stringify(text)} is no regular expression`);
}
