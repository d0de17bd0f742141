import type { ApiRequest, WatchEvent } from "#wire/api-request.ts";
import type { ObjectReader } from "../registry/object-reader.ts";
import { type ListQuery, parseListOptions } from "../registry/options.ts";
import type { Registry } from "../registry/registry.ts";
import { parseRevision } from "../registry/resource-version.ts";
import type { SubresourceHandler } from "../served-resource.ts";
import type { StoredObject } from "../stored.ts";
import { eventsInVersion } from "../versions.ts";
import { atNode, everywhere } from "../watch-cache.ts";
import { onlyKey, pageFromStore } from "./list.ts";

export const watch: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const query = parseListOptions(kind, request, registry.hides);
  const { timeoutSeconds = request.lastsSeconds } = query;
  const signal = timeoutSeconds === undefined ? request.signal : registry.signalFor(timeoutSeconds, request.signal);
  try {
    const changes = await watchObjects(registry, request, query, signal);
    const isWhole = request.namespace === undefined && !query.wants && !query.wantsConverted && !kind.convert;
    const events = request.holds && isWhole ? holding(registry.objects, changes) : changes;
    return { type: "watch", kind, events: eventsInVersion(kind, events, query.wantsConverted) };
  } catch (error) {
    if (!signal.aborted || request.signal.aborted) throw error;
    return { type: "watch", kind, events: noEvents() }; // its time was over before it could begin
  }
};

/** The changes that a query asks for, in the stored version. Those who name no revision, or 0, get what there is first. */
async function watchObjects(
  registry: Registry,
  { namespace, began }: Pick<ApiRequest, "namespace" | "began">,
  query: ListQuery,
  signal: AbortSignal,
): Promise<AsyncIterable<readonly WatchEvent[]>> {
  const { kind, objects } = registry;
  const { wants, sendInitialEvents, bookmarks, question } = query;
  const prefix = registry.prefixOf(namespace);
  const after = parseRevision(query.resourceVersion, "watch");
  const isInitial = sendInitialEvents ?? (after === undefined || after === 0);
  await (after === undefined ? objects.caughtUp(signal) : objects.reached(after, signal));
  const from = isInitial ? objects.revision : (after ?? objects.revision);
  const matches = (stored: StoredObject) => stored.key.startsWith(prefix) && (!wants || wants(stored.object));
  const present = async () =>
    objects.areInMemory
      ? objects.allInMemory(prefix).filter(matches)
      : (await pageFromStore(registry, prefix, { wants, limit: undefined }, signal, { at: from })).items;
  return objects.changes(
    { question: `${prefix} ${question}`, place: placeOf(registry, namespace, query), matches },
    {
      from,
      initial: isInitial ? await present() : [],
      bookmark: bookmarks ? { kind: kind.kind, apiVersion: kind.apiVersion } : undefined,
      marksInitial: sendInitialEvents === true,
      began,
    },
    signal,
  );
}

/** The smallest part of the cache that has all the objects wanted. */
function placeOf(registry: Registry, namespace: string | undefined, query: ListQuery): string {
  const key = onlyKey(registry, namespace, query);
  if (key !== undefined) return key;
  if (query.node !== undefined) return atNode(query.node);
  return namespace === undefined ? everywhere : registry.prefixOf(namespace);
}

/** For as long as they are followed, who follows them holds every object. */
async function* holding<T>(objects: ObjectReader, events: AsyncIterable<T>): AsyncGenerator<T> {
  const release = objects.hold();
  try {
    yield* events;
  } finally {
    release();
  }
}

async function* noEvents(): AsyncGenerator<readonly WatchEvent[]> {
  yield [];
}
