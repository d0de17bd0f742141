// Get, list and watch, served from the watch cache; lists of the past go to the store, and reads of kinds that the cache does not keep.
import { breathe } from "#base/breathe.ts";
import { type Soon, soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import { Compacted, FutureRevision, type Revision } from "#store/engine.ts";
import type { ApiRequest, ListPage, WatchEvent } from "#wire/api-request.ts";
import { badRequest, expired, expiredPage, notFound, notYetWritten, unexpectedError } from "#wire/status.ts";
import type { StoredObject } from "../stored.ts";
import { atNode, everywhere } from "../watch-cache.ts";
import { watchEvents } from "../watcher.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import type { ListQuery } from "./options.ts";
import type { Registry } from "./registry.ts";

/** How long a reader waits for a revision that has not been written yet. */
const futureWaitMs = 3000;

/** At once, if nothing has to be waited for. */
export function getObject(registry: Registry, request: ApiRequest): Soon<StoredObject> {
  const { name = "", namespace, query } = request;
  const key = registry.keyOf(namespace, name);
  const present = (stored: StoredObject | undefined): StoredObject => {
    if (!stored) throw notFound(registry.resourceOf(request), name);
    return stored;
  };
  const asked = parseRevision(query.get("resourceVersion") ?? "", "get");
  const { cache } = registry.options;
  if (asked !== undefined && cache.keepsObjects)
    return reached(registry, asked, request.signal).then(() => present(cache.get(key)));
  if (asked !== undefined)
    return reached(registry, asked, request.signal).then(async () => present(await registry.current(key, request)));
  return soon(registry.current(key, request), present);
}

export async function listObjects(registry: Registry, request: ApiRequest, options: ListQuery): Promise<ListPage> {
  const { kind, follower, cache } = registry.options;
  const { namespace, signal } = request;
  const prefix = namespace === undefined ? registry.prefix : `${registry.prefix}${namespace}/`;
  if (options.continue) {
    const { after, revision } = decodeContinue(options.continue, prefix);
    if (options.resourceVersion !== "" && options.resourceVersion !== "0")
      throw badRequest("specifying resource version is not allowed when using continue");
    return pastPage(registry, prefix, {
      revision: revision < 0 ? undefined : revision,
      after,
      options,
      signal,
      resumed: true,
    });
  }
  const asked = parseRevision(options.resourceVersion, "list");
  const exact =
    options.match === "Exact" ||
    (options.match === "" && options.limit !== undefined && asked !== undefined && asked > 0);
  if (exact && asked !== undefined && asked !== follower.revision)
    return pastPage(registry, prefix, { revision: asked, after: undefined, options, signal, resumed: false });
  await (asked === undefined ? follower.current(signal) : reached(registry, asked, signal));
  if (cache.keepsObjects) return presentPage(kind, registry, prefix, namespace, options);
  return pastPage(registry, prefix, { revision: undefined, after: undefined, options, signal, resumed: false });
}

/** A page of the newest objects, all taken in one turn of the event loop, so that they belong together. */
function presentPage(
  kind: AnyKind,
  registry: Registry,
  prefix: string,
  namespace: string | undefined,
  options: ListQuery,
): ListPage {
  const { cache, follower } = registry.options;
  const { wants, name, limit = Number.POSITIVE_INFINITY } = options;
  const resourceVersion = String(follower.revision);
  if (name !== undefined && (namespace !== undefined || kind.scope === "Cluster")) {
    const stored = cache.get(prefix + name);
    return { kind, resourceVersion, items: stored && (!wants || wants(stored.object)) ? [stored] : [] };
  }
  if (!wants && cache.count(prefix) <= limit) return { kind, resourceVersion, items: cache.list(prefix) };
  const items: StoredObject[] = [];
  for (const [, stored] of cache.range(prefix)) {
    if (wants && !wants(stored.object)) continue;
    if (items.length === limit) {
      const last = items.at(-1) as StoredObject;
      return {
        kind,
        resourceVersion,
        items,
        continue: encodeContinue(last.key, prefix, follower.revision),
        ...(!wants && { remainingItemCount: cache.count(prefix, last.key) }),
      };
    }
    items.push(stored);
  }
  return { kind, resourceVersion, items };
}

interface PastPage {
  readonly revision: Revision | undefined;
  readonly after: string | undefined;
  readonly options: Pick<ListQuery, "wants" | "limit">;
  readonly signal: AbortSignal;
  readonly resumed: boolean;
}

interface StoredPage extends ListPage {
  readonly items: readonly StoredObject[];
}

async function pastPage(
  registry: Registry,
  prefix: string,
  { revision, after: start, options, signal, resumed }: PastPage,
): Promise<StoredPage> {
  const { kind, store, form } = registry.options;
  const { wants, limit } = options;
  const items: StoredObject[] = [];
  const pause = breathe();
  let after = start;
  let at = revision;
  try {
    for (;;) {
      const wanted = limit === undefined ? 1000 : limit - items.length;
      const page = await store.list(
        prefix,
        { limit: Math.max(wanted, 1), ...(at !== undefined && { at }), ...(after !== undefined && { after }) },
        signal,
      );
      at = page.revision;
      for (const entry of page.entries) {
        const stored = form.of(entry);
        if (!wants || wants(stored.object)) items.push(stored);
        after = entry.key;
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
      throw resumed && after !== undefined
        ? expiredPage(encodeContinue(after, prefix, newest))
        : expired("The resourceVersion for the provided list is too old.");
    if (error instanceof FutureRevision) throw notYetWritten(revision ?? 0, error.newest);
    throw error;
  }
}

/** Stands in a token for the revision that is the newest when the token is used. */
const newest: Revision = -1;

export async function watchObjects(
  registry: Registry,
  request: ApiRequest,
  options: ListQuery,
): Promise<AsyncIterable<readonly WatchEvent[]>> {
  const { kind, cache, follower, store, clock } = registry.options;
  const { namespace, signal } = request;
  const prefix = namespace === undefined ? registry.prefix : `${registry.prefix}${namespace}/`;
  const { wants } = options;
  const asked = parseRevision(options.resourceVersion, "watch");
  const initial = options.sendInitialEvents ?? (asked === undefined || asked === 0);

  await (asked === undefined ? follower.current(signal) : reached(registry, asked, signal));
  const from = initial ? follower.revision : (asked ?? follower.revision);
  const matches = (stored: StoredObject) => stored.key.startsWith(prefix) && (!wants || wants(stored.object));
  const present = async () => {
    if (cache.keepsObjects) return cache.list(prefix).filter(matches);
    const everything = { revision: from, after: undefined, signal, resumed: false };
    return (await pastPage(registry, prefix, { ...everything, options: { wants, limit: undefined } })).items;
  };
  const place = placeOf(registry, prefix, namespace, options);
  return watchEvents(
    {
      cache,
      follower,
      store,
      clock,
      feed: registry.feeds.of(`${prefix} ${options.question}`, place, matches),
      from,
      initial: initial ? await present() : [],
      bookmark: options.bookmarks ? { kind: kind.kind, apiVersion: kind.apiVersion } : undefined,
      marksInitial: options.sendInitialEvents === true,
    },
    signal,
  );
}

/** The smallest part of the cache that has all the objects wanted. */
function placeOf(
  { options: { kind } }: Registry,
  prefix: string,
  namespace: string | undefined,
  { name, node }: ListQuery,
): string {
  if (name !== undefined && (namespace !== undefined || kind.scope === "Cluster")) return prefix + name;
  if (node !== undefined) return atNode(node);
  return namespace === undefined ? everywhere : prefix;
}

/** Waits until the cache has reached a revision, and refuses one that does not come. */
async function reached(registry: Registry, revision: Revision, signal: AbortSignal): Promise<void> {
  const { follower, clock, store } = registry.options;
  if (follower.revision >= revision) return;
  const wait = new AbortController();
  const cancel = clock.after(futureWaitMs, () => wait.abort(new Error("waited long enough")));
  try {
    await follower.seen(revision, AbortSignal.any([signal, wait.signal]));
  } catch (error) {
    if (signal.aborted) throw error;
    throw notYetWritten(revision, await store.revision(signal));
  } finally {
    cancel();
  }
}

/** Undefined for an absent one, which means the newest. */
function parseRevision(text: string, verb: string): Revision | undefined {
  if (text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const quoted = JSON.stringify(text);
  const why = `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`;
  throw verb === "watch" ? unexpectedError(why) : badRequest(`invalid resource version: ${why}`);
}
