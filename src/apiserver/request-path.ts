// What a URL path means.
import { own } from "#base/collections.ts";
import type { RequestVerb, ResourceAddress } from "#wire/api-request.ts";
import { badRequest, unknownPath } from "#wire/status.ts";

export interface ResourcePath extends ResourceAddress {
  /** What follows the subresource, for proxies: `/a/b`, still escaped. */
  readonly rest?: string | undefined;
  /** The old way to ask for a watch: `/api/v1/watch/pods`. */
  readonly watch: boolean;
}

/** Subresources of a namespace, which would otherwise read as resources in it. */
const ofNamespaces = new Set(["status", "finalize"]);

/** The resource a path addresses, or undefined if it is not of that form. */
export function parseResourcePath(path: string): ResourcePath | undefined {
  const segments = path.split("/"); // the first is empty
  if (segments.at(-1) === "") segments.pop();
  const isLegacy = segments[1] === "api";
  if (!isLegacy && segments[1] !== "apis") return undefined;
  const group = isLegacy ? "" : segments[2];
  const version = segments[isLegacy ? 2 : 3];
  let at = isLegacy ? 3 : 4;
  if (group === undefined || version === undefined || segments.length === at) return undefined;
  if (!isLegacy && group === "") throw badRequest("the path names no API group");
  const watch = segments[at] === "watch";
  if (watch) at++;
  const count = segments.length - at;
  if (count <= 0) return undefined;
  const isIn = segments[at] === "namespaces" && count > 2 && !(count === 3 && ofNamespaces.has(segments[at + 2] ?? ""));
  const namespace = isIn ? plainSegment(segments[at + 1] ?? "") : undefined;
  if (isIn) at += 2;
  const resource = plainSegment(segments[at] ?? "");
  const name = segments.length > at + 1 ? nameSegment(segments[at + 1] ?? "") : undefined;
  const subresource = segments.length > at + 2 ? plainSegment(segments[at + 2] ?? "") : undefined;
  const rest = subresource === undefined ? undefined : restOf(segments.slice(at + 3), path.endsWith("/"));
  return { group, version, watch, namespace, resource, name, subresource, rest };
}

const restOf = (segments: readonly string[], endsWithSlash: boolean): string | undefined =>
  segments.length > 0 || endsWithSlash
    ? `${segments.map((one) => `/${one}`).join("")}${endsWithSlash ? "/" : ""}`
    : undefined;

/** The name of an object; upstream says of those that would climb why they are none. */
function nameSegment(segment: string): string {
  if (segment === "." || segment === "..")
    throw badRequest(`Name parameter invalid: ${JSON.stringify(segment)}: may not be '${segment}'`);
  if (/%2f/i.test(segment)) throw unknownPath(); // there, it begins a subresource
  return plainSegment(segment);
}

/** A segment is unescaped once; what then contains a slash or climbs cannot be a name. */
function plainSegment(segment: string): string {
  let text = segment;
  try {
    if (segment.includes("%")) text = decodeURIComponent(segment);
  } catch {
    throw badRequest(`the path segment ${JSON.stringify(segment)} is not properly escaped`); // a URIError says no more
  }
  if (text === "" || text === "." || text === ".." || text.includes("/") || text.includes("\0"))
    throw badRequest(`the path segment ${JSON.stringify(segment)} is not a name`);
  return text;
}

/** The verb of a method for authorization on any path. Other methods need the verb `*`. */
export const verbOfMethod = (method: string): string => own(verbs, method) ?? "";

const verbs = { GET: "get", HEAD: "get", POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };

/** The verb of a request, or undefined for a method the API does not know in this place. */
export function verbOf(
  method: string,
  { name, subresource, watch }: ResourcePath,
  query: URLSearchParams,
): RequestVerb | undefined {
  if (watch) return method === "GET" ? "watch" : undefined;
  switch (method) {
    case "GET":
    case "HEAD":
      if (name !== undefined) return "get"; // a named object is watched by a field selector on its collection
      return isTrue(query.get("watch")) ? "watch" : "list";
    case "POST":
      return name === undefined || subresource !== undefined ? "create" : undefined;
    case "PUT":
      return name === undefined ? undefined : "update";
    case "PATCH":
      return name === undefined ? undefined : "patch";
    case "DELETE":
      return name === undefined ? "deletecollection" : "delete";
    default:
      return undefined;
  }
}

const isTrue = (value: string | null): boolean => value !== null && value !== "false" && value !== "0";
