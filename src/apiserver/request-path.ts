// What a URL path means.
import type { RequestVerb, ResourceAddress } from "#wire/api-request.ts";
import { badRequest } from "#wire/status.ts";

export interface ResourcePath extends ResourceAddress {
  /** What follows the subresource, for proxies: `/a/b`, still escaped. */
  readonly rest?: string;
  /** The old way to ask for a watch: `/api/v1/watch/pods`. */
  readonly watch: boolean;
}

/** Subresources of a namespace, which would otherwise read as resources in it. */
const ofNamespaces = new Set(["status", "finalize"]);

/** The resource a path addresses, or undefined if it is not of that form. */
export function parseResourcePath(path: string): ResourcePath | undefined {
  const segments = path.split("/").slice(1);
  if (segments.at(-1) === "") segments.pop();
  const isLegacy = segments[0] === "api";
  if (!isLegacy && segments[0] !== "apis") return undefined;
  const [group, version, ...rest] = isLegacy ? ["", ...segments.slice(1)] : segments.slice(1);
  if (group === undefined || version === undefined || rest.length === 0) return undefined;
  if (!isLegacy && group === "") throw badRequest("the path names no API group");
  const watch = rest[0] === "watch";
  const parts = watch ? rest.slice(1) : rest;
  if (parts.length === 0) return undefined;
  const address =
    parts[0] === "namespaces" && parts.length > 2 && !(parts.length === 3 && ofNamespaces.has(parts[2] as string))
      ? { namespace: plainSegment(parts[1] as string), ...named(parts.slice(2), path) }
      : named(parts, path);
  return { group, version, watch, ...address };
}

function named([resource = "", name, subresource, ...rest]: readonly string[], path: string) {
  const slash = path.endsWith("/") ? [""] : [];
  return {
    resource: plainSegment(resource),
    ...(name !== undefined && { name: plainSegment(name) }),
    ...(subresource !== undefined && { subresource: plainSegment(subresource) }),
    ...(subresource !== undefined && rest.length + slash.length > 0 && { rest: ["", ...rest, ...slash].join("/") }),
  };
}

/** A segment is unescaped once; what then contains a slash or climbs cannot be a name. */
function plainSegment(segment: string): string {
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch {
    throw badRequest(`the path segment ${JSON.stringify(segment)} is not properly escaped`); // a URIError says no more
  }
  if (text === "" || text === "." || text === ".." || text.includes("/") || text.includes("\0"))
    throw badRequest(`the path segment ${JSON.stringify(segment)} is not a name`);
  return text;
}

/** The verb of a request, or undefined for a method the API does not know in this place. */
export function verbOf(
  method: string,
  { name, subresource, watch }: ResourcePath,
  query: URLSearchParams,
): RequestVerb | undefined {
  switch (method) {
    case "GET":
    case "HEAD":
      if (watch) return "watch";
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
