// The watch of one client: a filter on the events of the cache, and a bounded backlog. A watcher that begins in the past, or has fallen
// behind, reads history until it has reached the present: no watch ends because its client is slow.
import type { Clock } from "#base/clock.ts";
import { type ApiError, explain } from "#base/errors.ts";
import { Compacted, type Revision, type StoreEngine, Unavailable } from "#store/engine.ts";
import type { EncodedObject, WatchEvent, WatchEventType } from "#wire/api-request.ts";
import { encodeObject } from "#wire/json.ts";
import { internalError, serviceUnavailable, statusOf, tooOld } from "#wire/status.ts";
import type { StoreFollower } from "./store-follower.ts";
import type { StoredObject } from "./stored.ts";
import type { CacheEvent, WatchCache } from "./watch-cache.ts";

/** A watcher whose backlog has this many events gets no more pushed; it reads history at its own pace. */
const backlog = 10_000;

/** The largest batch of events: large enough to save writes, and small enough not to keep others waiting. */
const batchSize = 100;

/** How many past events are read at once. */
const pastSize = 1000;

/** The interval of bookmarks. */
const bookmarkEveryMs = 60_000;

export interface WatcherOptions {
  readonly cache: WatchCache;
  readonly follower: StoreFollower;
  /** The store, which has the history that the cache no longer has. */
  readonly store: StoreEngine;
  readonly clock: Clock;
  readonly feed: SharedFeed;
  /** Events after this revision are sent. */
  readonly from: Revision;
  /** Sent before anything else, as ADDED. */
  readonly initial: readonly StoredObject[];
  /** What a bookmark contains besides its resourceVersion; undefined sends none. */
  readonly bookmark: object | undefined;
  /** Whether a bookmark marks the end of the initial objects. */
  readonly marksInitial: boolean;
  /** Called when the initial objects have been taken. */
  readonly began?: (() => void) | undefined;
}

/** The events of one watch, in batches of what is ready. Ends with the signal, with its cache, or with an ERROR event. */
export async function* watchEvents(
  options: WatcherOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly WatchEvent[]> {
  const { cache, from, initial, bookmark, marksInitial, began } = options;
  const isOver = () => signal.aborted || cache.isClosed;
  for (const batch of inBatches(initial)) yield batch.map((stored) => sent("ADDED", stored));
  if (bookmark && marksInitial) yield [bookmarkAt(bookmark, from, true)];
  began?.();
  let seen = from;
  try {
    while (!isOver()) {
      for await (const { events, revision } of past(options, seen, signal)) {
        seen = revision;
        if (events.length > 0) yield events;
      }
      for await (const { events, revision } of present(options, seen, signal)) {
        seen = revision;
        yield events;
      }
    }
  } catch (error) {
    if (!signal.aborted) yield [plain("ERROR", statusOf(refusal(error, seen)))];
  }
}

/** The events of one query, and the revision up to which they are complete. */
interface EventBatch {
  readonly events: readonly WatchEvent[];
  readonly revision: Revision;
}

/** The events after a revision up to the present: from the cache, or from the store if the ring does not go back that far. */
async function* past(options: WatcherOptions, from: Revision, signal: AbortSignal): AsyncGenerator<EventBatch> {
  const { cache, store, feed } = options;
  let seen = from;
  while (!signal.aborted && !cache.isClosed) {
    if (seen < cache.oldest) {
      for await (const { changes, revision } of store.watch(cache.prefix, seen, signal)) {
        yield* feed.translated(cache.eventsOf(changes));
        seen = revision;
        yield { events: [], revision };
        if (seen >= cache.oldest || cache.isClosed) break;
      }
    } else {
      const events = cache.since(seen, pastSize);
      const last = events.at(-1);
      if (!last) return;
      yield* feed.translated(events);
      seen = last.revision;
      yield { events: [], revision: seen };
    }
  }
}

/** The live events after a recent revision, for as long as the client keeps up. */
async function* present(options: WatcherOptions, from: Revision, signal: AbortSignal): AsyncGenerator<EventBatch> {
  const { cache, follower, clock, feed, bookmark } = options;
  /** Shared with other watchers of the same feed: must not be changed. */
  let ready: EventBatch[] = [];
  let waiting = 0;
  let isBehind = false;
  let wake: (() => void) | undefined;
  const notify = () => {
    wake?.();
    wake = undefined;
  };
  const fallBehind = () => {
    isBehind = true;
    ready = [];
    notify();
  };
  const take = (told: EventBatch) => {
    if (isBehind) return;
    ready.push(told);
    waiting += told.events.length;
    if (waiting > backlog) fallBehind();
    else notify();
  };
  const leave = feed.join({ take, reset: fallBehind, end: notify });
  signal.addEventListener("abort", notify, { once: true });
  let cancelBookmark: (() => void) | undefined;
  const scheduleBookmark = (event: object) => {
    cancelBookmark = clock.after(bookmarkEveryMs, () => {
      const { revision } = follower;
      take({ events: [bookmarkAt(event, revision, false)], revision });
      scheduleBookmark(event);
    });
  };
  if (bookmark) scheduleBookmark(bookmark);
  // What came since it was last looked at, before anything newer.
  if (from < cache.oldest) fallBehind();
  else for (const batch of feed.translated(cache.since(from))) take(batch);
  try {
    while (!signal.aborted && !isBehind) {
      if (waiting === 0) {
        if (cache.isClosed) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const batches = ready;
      ready = [];
      waiting = 0;
      for (const batch of batches) yield batch; // not joined: the bytes of each are shared with others
    }
  } finally {
    cancelBookmark?.();
    leave();
    signal.removeEventListener("abort", notify);
  }
}

function refusal(error: unknown, seen: Revision): ApiError {
  if (error instanceof Compacted) return tooOld(seen, error.oldest);
  if (error instanceof Unavailable) return serviceUnavailable(error.message);
  return internalError(explain(error));
}

interface Member {
  take(told: EventBatch): void;
  reset(): void;
  end(): void;
}

/** Watchers of the same query share one feed, in which events are filtered and encoded once. */
export class SharedFeed {
  readonly #cache: WatchCache;
  readonly #place: string;
  readonly #wants: (stored: StoredObject) => boolean;
  readonly #members = new Set<Member>();
  #unlisten: (() => void) | undefined;

  constructor(cache: WatchCache, place: string, wants: (stored: StoredObject) => boolean) {
    this.#cache = cache;
    this.#place = place;
    this.#wants = wants;
  }

  get isIdle(): boolean {
    return this.#members.size === 0;
  }

  join(member: Member): () => void {
    this.#members.add(member);
    this.#unlisten ??= this.#cache.listen(
      {
        events: (events) => {
          for (const told of this.translated(events)) for (const { take } of this.#members) take(told);
        },
        reset: () => {
          for (const member of [...this.#members]) member.reset();
        },
        end: () => {
          for (const member of [...this.#members]) member.end();
        },
      },
      this.#place,
    );
    return () => {
      this.#members.delete(member);
      if (this.#members.size > 0) return;
      this.#unlisten?.();
      this.#unlisten = undefined;
    };
  }

  /** In batches that no revision is split between, so that whoever has seen one can go on after it. */
  *translated(events: readonly CacheEvent[]): Generator<EventBatch> {
    let batch: WatchEvent[] = [];
    for (const [i, event] of events.entries()) {
      const told = translate(event, this.#wants);
      if (told) batch.push(told);
      const { revision } = event;
      if (batch.length < batchSize || events[i + 1]?.revision === revision) continue;
      yield { events: batch, revision };
      batch = [];
    }
    const last = events.at(-1);
    if (last && batch.length > 0) yield { events: batch, revision: last.revision };
  }
}

function* inBatches<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < items.length; i += batchSize)
    yield items.length <= batchSize ? items : items.slice(i, i + batchSize);
}

/** The feeds of one cache that have listeners, by their queries. */
export class Feeds {
  readonly #cache: WatchCache;
  readonly #byQuestion = new Map<string, SharedFeed>();

  constructor(cache: WatchCache) {
    this.#cache = cache;
  }

  /** `question` is a text for `wants`: watchers with equal texts share a feed. */
  of(question: string, place: string, wants: (stored: StoredObject) => boolean): SharedFeed {
    const present = this.#byQuestion.get(question);
    if (present) return present;
    if (this.#byQuestion.size > 1000)
      for (const [other, feed] of this.#byQuestion) if (feed.isIdle) this.#byQuestion.delete(other);
    const feed = new SharedFeed(this.#cache, place, wants);
    this.#byQuestion.set(question, feed);
    return feed;
  }
}

/** What an event means to a watcher with a selector: an object that starts to match is added, one that stops is deleted. */
function translate(event: CacheEvent, wants: (stored: StoredObject) => boolean): WatchEvent | undefined {
  const { current, previous, deleted } = event;
  const was = previous !== undefined && wants(previous);
  const is = current !== undefined && wants(current);
  if (is) return was ? sent("MODIFIED", current, previous) : sent("ADDED", current);
  if (!was) return undefined;
  // The object as it last matched, with the revision at which it stopped to.
  return sent("DELETED", deleted ?? previous.deleted(event.revision));
}

const encoder = new TextEncoder();
const heads = Object.fromEntries(
  (["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"] as const).map((type) => [
    type,
    encoder.encode(`{"type":"${type}","object":`),
  ]),
) as Readonly<Record<WatchEventType, Uint8Array>>;
const tail = encoder.encode("}\n");

export const sent = (type: WatchEventType, stored: EncodedObject, previous?: EncodedObject): WatchEvent => ({
  type,
  previous,
  get object() {
    return stored.object;
  },
  json: () => frame(type, stored.json),
});

export const plain = (type: WatchEventType, object: object): WatchEvent => ({
  type,
  object,
  json: () => frame(type, encodeObject({ apiVersion: "", kind: "" }, object)),
});

/** The JSON ends with a newline, which belongs behind the whole event. */
function frame(type: WatchEventType, json: Uint8Array): Uint8Array {
  const head = heads[type];
  const line = new Uint8Array(head.length + json.length - 1 + tail.length);
  line.set(head);
  line.set(json, head.length);
  line.set(tail, line.length - tail.length);
  return line;
}

const bookmarkAt = (bookmark: object, revision: Revision, endsInitial: boolean): WatchEvent =>
  plain("BOOKMARK", {
    ...bookmark,
    metadata: {
      resourceVersion: String(revision),
      ...(endsInitial && { annotations: { "k8s.io/initial-events-end": "true" } }),
    },
  });
