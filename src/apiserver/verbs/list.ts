// Lists of the newest objects come from memory, those of a past revision from the store.
import { breathe } from "#base/breathe.ts";
import { Compacted, FutureRevision, type Revision } from "#store/engine.ts";
import type { ApiRequest, EncodedObject, ListPage } from "#wire/api-request.ts";
import { badRequest, expired, expiredPage, notYetWritten } from "#wire/status.ts";
import { decodeContinue, encodeContinue } from "../registry/continue-token.ts";
import { type ListQuery, parseListOptions } from "../registry/options.ts";
import type { Registry } from "../registry/registry.ts";
import { parseRevision } from "../registry/resource-version.ts";
import type { ServedResource, SubresourceHandler } from "../served-resource.ts";
import type { StoredObject } from "../stored.ts";
import { allInVersion } from "../versions.ts";

export const list: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  return { type: "list", page: await pageInVersion(served, request, parseListOptions(kind, request, registry.hides)) };
};

/** The page that a request asks for, in its version. Where others convert, it is found out then which objects are wanted. */
export async function pageInVersion(
  { kind, registry }: ServedResource,
  request: ApiRequest,
  query: ListQuery,
): Promise<ListPage> {
  const { wantsConverted, limit } = query;
  let page = await listObjects(registry, request, query);
  const first = await allInVersion(kind, page.items);
  if (!wantsConverted) return { ...page, kind, items: first };
  const isWanted = ({ object }: EncodedObject) => wantsConverted(object);
  const items = first.filter(isWanted);
  while (page.continue !== undefined && limit !== undefined && items.length < limit) {
    const rest = { limit: limit - items.length, continue: page.continue, resourceVersion: "", match: "" } as const;
    page = await listObjects(registry, request, { ...query, ...rest });
    items.push(...(await allInVersion(kind, page.items)).filter(isWanted));
  }
  const { remainingItemCount: _, ...head } = page;
  return { ...head, kind, items };
}

/** The page that a request asks for, in the stored version. */
async function listObjects(registry: Registry, request: ApiRequest, query: ListQuery): Promise<ListPage> {
  const { objects } = registry;
  const { namespace, signal } = request;
  const prefix = registry.prefixOf(namespace);
  if (query.continue) {
    const { after, revision } = decodeContinue(query.continue, prefix);
    if (query.resourceVersion !== "" && query.resourceVersion !== "0")
      throw badRequest("specifying resource version is not allowed when using continue");
    return pageFromStore(registry, prefix, query, signal, { at: revision < 0 ? undefined : revision, after });
  }
  const wanted = parseRevision(query.resourceVersion, "list");
  const isExact =
    query.match === "Exact" || (query.match === "" && query.limit !== undefined && wanted !== undefined && wanted > 0);
  if (isExact && wanted !== undefined && wanted !== objects.revision)
    return pageFromStore(registry, prefix, query, signal, { at: wanted });
  await (wanted === undefined ? objects.caughtUp(signal) : objects.reached(wanted, signal));
  return objects.areInMemory
    ? pageInMemory(registry, namespace, query)
    : pageFromStore(registry, prefix, query, signal, {});
}

/** A page of the newest objects, all taken in one turn of the event loop, so that they belong together. */
function pageInMemory(registry: Registry, namespace: string | undefined, query: ListQuery): ListPage {
  const { kind, objects } = registry;
  const { wants, limit = Number.POSITIVE_INFINITY } = query;
  const prefix = registry.prefixOf(namespace);
  const page = { kind, resourceVersion: String(objects.revision) };
  const key = onlyKey(registry, namespace, query);
  if (key !== undefined) {
    const stored = objects.inMemory(key);
    return { ...page, items: stored && (!wants || wants(stored.object)) ? [stored] : [] };
  }
  if (!wants && objects.countInMemory(prefix) <= limit) return { ...page, items: objects.allInMemory(prefix) };
  const items: StoredObject[] = [];
  for (const stored of objects.eachInMemory(prefix)) {
    if (wants && !wants(stored.object)) continue;
    if (items.length === limit) {
      const last = items.at(-1) as StoredObject;
      return {
        ...page,
        items,
        continue: encodeContinue(last.key, prefix, objects.revision),
        ...(!wants && { remainingItemCount: objects.countInMemory(prefix, last.key) }),
      };
    }
    items.push(stored);
  }
  return { ...page, items };
}

/** The key of the only object that a query can find, if it names one. */
export function onlyKey(registry: Registry, namespace: string | undefined, { name }: ListQuery): string | undefined {
  const isOne = name !== undefined && (namespace !== undefined || registry.kind.scope === "Cluster");
  return isOne ? registry.prefixOf(namespace) + name : undefined;
}

interface StorePage extends ListPage {
  readonly items: readonly StoredObject[];
}

/** Where a page begins: at a past revision instead of the newest, and behind the last key of the page before. */
interface PageStart {
  readonly at?: Revision | undefined;
  readonly after?: string;
}

/** As many objects as are wanted from the store, which is asked again while they do not match. */
export async function pageFromStore(
  { kind, objects }: Registry,
  prefix: string,
  { wants, limit }: Pick<ListQuery, "wants" | "limit">,
  signal: AbortSignal,
  start: PageStart,
): Promise<StorePage> {
  const items: StoredObject[] = [];
  const pause = breathe();
  let { at, after } = start;
  try {
    for (;;) {
      const missing = limit === undefined ? 1000 : limit - items.length;
      const range = {
        limit: Math.max(missing, 1),
        ...(at !== undefined && { at }),
        ...(after !== undefined && { after }),
      };
      const page = await objects.fromStore(prefix, range, signal);
      at = page.revision;
      for (const stored of page.objects) {
        if (!wants || wants(stored.object)) items.push(stored);
        after = stored.key;
        if (pause.due()) await pause.now();
      }
      const more = page.remaining > 0;
      if (more && (limit === undefined || items.length < limit)) continue;
      return {
        kind,
        resourceVersion: String(at),
        items,
        ...(more && { continue: encodeContinue(after as string, prefix, at) }),
        ...(more && !wants && { remainingItemCount: page.remaining }),
      };
    }
  } catch (error) {
    if (error instanceof Compacted)
      throw start.after !== undefined && after !== undefined
        ? expiredPage(encodeContinue(after, prefix, newest))
        : expired("The resourceVersion for the provided list is too old.");
    if (error instanceof FutureRevision) throw notYetWritten(start.at ?? 0, error.newest);
    throw error;
  }
}

/** Stands in a token for the revision that is the newest when the token is used. */
const newest: Revision = -1;
