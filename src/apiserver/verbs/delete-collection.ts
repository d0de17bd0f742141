import { isNotFound } from "#base/errors.ts";
import type { ApiObject } from "#schema/object.ts";
import { type EncodedObject, requestWith } from "#wire/api-request.ts";
import { parseListOptions } from "../registry/options.ts";
import type { SubresourceHandler } from "../served-resource.ts";
import { allInVersion } from "../versions.ts";
import { deleteObject, deleteOptions } from "./delete.ts";
import { pageInVersion } from "./list.ts";

export const deleteCollection: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const page = await pageInVersion(served, request, parseListOptions(kind, request));
  const options = deleteOptions(request, served);
  const items: EncodedObject[] = [];
  for (const { object } of page.items) {
    const { name = "", namespace } = (object as ApiObject).metadata;
    const one = requestWith(request, { name, ...(namespace && { namespace }) });
    try {
      items.push((await deleteObject(registry, one, registry.keyOf(namespace, name), options)).stored);
    } catch (error) {
      if (!isNotFound(error)) throw error; // someone else was quicker: it is gone, as asked
    }
  }
  return { type: "list", page: { ...page, kind, items: await allInVersion(kind, items) } };
};
