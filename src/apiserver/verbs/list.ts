import { parseListOptions } from "../registry/options.ts";
import { listObjects } from "../registry/reader.ts";
import type { SubresourceHandler } from "../served-resource.ts";
import { allInVersion } from "../versions.ts";

export const list: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const page = await listObjects(registry, request, parseListOptions(kind, request));
  return { type: "list", page: { ...page, kind, items: allInVersion(kind, page.items) } };
};
