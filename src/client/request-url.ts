import type { ApiRequest, RequestVerb } from "#wire/api-request.ts";

export const methods: Readonly<Record<RequestVerb, string>> = {
  get: "GET",
  list: "GET",
  watch: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE",
  connect: "POST",
};

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
