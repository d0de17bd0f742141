import type { ApiRequest } from "#wire/api-request.ts";

/** The path and query that say in a URL what a request says in fields. */
export function pathOf({ group, version, namespace, resource, name, subresource, query }: ApiRequest): string {
  const segments = [
    ...(group === "" ? ["api"] : ["apis", group]),
    version,
    ...(namespace === undefined ? [] : ["namespaces", namespace]),
    resource,
    ...(name === undefined ? [] : [name]),
    ...(subresource === undefined ? [] : subresource.split("/")),
  ];
  const path = segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
  return query.size === 0 ? path : `${path}?${query}`;
}
