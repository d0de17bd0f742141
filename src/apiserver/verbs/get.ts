import { soon } from "#base/soon.ts";
import { getObject } from "../registry/reader.ts";
import { answer, type SubresourceHandler } from "../served-resource.ts";

export const get: SubresourceHandler = (request, served) => {
  return soon(getObject(served.registry, request), (stored) => answer(200, served, stored));
};
