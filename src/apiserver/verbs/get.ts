import { type Soon, soon } from "#base/soon.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { notFound } from "#wire/status.ts";
import { includesUninitialized } from "../registry/initialization.ts";
import type { Registry } from "../registry/registry.ts";
import { parseRevision } from "../registry/resource-version.ts";
import { answer, type SubresourceHandler } from "../served-resource.ts";
import type { StoredObject } from "../stored.ts";

export const get: SubresourceHandler = (request, served) =>
  soon(getObject(served.registry, request), (stored) => answer(200, served, stored));

/**
 * The object that a request names: the newest, or any that is not older than the resourceVersion it names. At once, if nothing has to
 * be waited for.
 */
export function getObject(registry: Registry, request: ApiRequest): Soon<StoredObject> {
  const { objects } = registry;
  const { name = "", namespace, query } = request;
  const key = registry.keyOf(namespace, name);
  const present = (stored: StoredObject | undefined): StoredObject => {
    const isHidden = stored && registry.hides?.(stored.object) && !includesUninitialized(request);
    if (!stored || isHidden) throw notFound(registry.resourceOf(request), name);
    return stored;
  };
  const minimum = parseRevision(query.get("resourceVersion") ?? "", "get");
  if (minimum === undefined) return soon(objects.current(key, request), present);
  return objects
    .reached(minimum, request.signal)
    .then(() => (objects.areInMemory ? objects.inMemory(key) : objects.current(key, request)))
    .then(present);
}
