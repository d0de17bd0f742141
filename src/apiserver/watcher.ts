// One client's watch: what of the cache's events it wants, and a bounded backlog until it has taken them.
import type { Clock } from "#base/clock.ts";
import type { ApiError } from "#base/errors.ts";
import type { Revision } from "#store/engine.ts";
import type { EncodedObject, WatchEvent, WatchEventType } from "#wire/api-request.ts";
import { statusOf, tooOld } from "#wire/status.ts";
import type { StoreFollower } from "./store-follower.ts";
import type { Stored } from "./stored.ts";
import type { CacheEvent, WatchCache } from "./watch-cache.ts";

/** A watcher that lags this many events behind is ended; its client lists again. */
const backlog = 10_000;

/** So many events are passed on together at most: enough to save writes, and not so many that others would have to wait. */
const batchSize = 100;

/** How often a client that asked for it learns how far it has come although nothing happened. */
const bookmarkEveryMs = 60_000;

export interface WatcherOptions {
  readonly cache: WatchCache;
  readonly follower: StoreFollower;
  readonly clock: Clock;
  readonly feed: Feed;
  /** Events after this revision are sent. */
  readonly from: Revision;
  /** Sent before anything else, as ADDED. */
  readonly initial: readonly Stored[];
  /** What a bookmark contains besides its resourceVersion; undefined sends none. */
  readonly bookmark: object | undefined;
  /** Whether a bookmark marks the end of the initial objects. */
  readonly marksInitial: boolean;
}

/** The events of one watch, in batches of what is ready. Ends with the signal, or with an ERROR event. */
export async function* watchEvents(
  options: WatcherOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly WatchEvent[]> {
  const { cache, follower, clock, feed, from, initial, bookmark, marksInitial } = options;
  /** Shared with other watchers of the same feed: must not be changed. */
  let ready: (readonly WatchEvent[])[] = [];
  let waiting = 0;
  let wake: (() => void) | undefined;
  let failure: ApiError | undefined;

  const notify = () => {
    wake?.();
    wake = undefined;
  };
  const fail = () => {
    failure = tooOld(from, cache.oldest);
    ready = [];
    notify();
  };
  const take = (batch: readonly WatchEvent[]) => {
    if (failure) return;
    ready.push(batch);
    waiting += batch.length;
    if (waiting > backlog) fail();
    else notify();
  };
  const leave = feed.join({ take, reset: fail });
  signal.addEventListener("abort", notify, { once: true });
  let cancelBookmark: (() => void) | undefined;
  const scheduleBookmark = (event: object) => {
    cancelBookmark = clock.after(bookmarkEveryMs, () => {
      take([bookmarkAt(event, follower.revision, false)]);
      scheduleBookmark(event);
    });
  };
  try {
    if (from < cache.oldest)
      fail(); // history went on before the client began to read
    else if (from < follower.revision) for (const batch of feed.translated(cache.since(from))) take(batch);
    for (const batch of inBatches(initial)) yield batch.map((stored) => sent("ADDED", stored));
    if (bookmark) {
      if (marksInitial) yield [bookmarkAt(bookmark, from, true)];
      scheduleBookmark(bookmark);
    }
    while (!signal.aborted) {
      if (failure) {
        yield [plain("ERROR", statusOf(failure))];
        return;
      }
      if (waiting === 0) {
        ready = [];
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const batches = ready;
      ready = [];
      waiting = 0;
      yield* batches; // not joined: the bytes of each are shared with others
    }
  } finally {
    cancelBookmark?.();
    leave();
    signal.removeEventListener("abort", notify);
  }
}

interface Member {
  take(batch: readonly WatchEvent[]): void;
  reset(): void;
}

/** Watchers that ask the same question hear the same events, translated once. */
export class Feed {
  readonly #cache: WatchCache;
  readonly #place: string;
  readonly #wants: (stored: Stored) => boolean;
  readonly #members = new Set<Member>();
  #unlisten: (() => void) | undefined;

  constructor(cache: WatchCache, place: string, wants: (stored: Stored) => boolean) {
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
          for (const batch of this.translated(events)) for (const { take } of this.#members) take(batch);
        },
        reset: () => {
          for (const one of [...this.#members]) one.reset();
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

  translated(events: readonly CacheEvent[]): Iterable<readonly WatchEvent[]> {
    return inBatches(events.flatMap((event) => translate(event, this.#wants) ?? []));
  }
}

function* inBatches<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < items.length; i += batchSize)
    yield items.length <= batchSize ? items : items.slice(i, i + batchSize);
}

/** The feeds of one cache that anyone listens to, by their questions. */
export class Feeds {
  readonly #cache: WatchCache;
  readonly #byQuestion = new Map<string, Feed>();

  constructor(cache: WatchCache) {
    this.#cache = cache;
  }

  /** `question` says in text what `wants` decides: equal texts share a feed. */
  of(question: string, place: string, wants: (stored: Stored) => boolean): Feed {
    const present = this.#byQuestion.get(question);
    if (present) return present;
    if (this.#byQuestion.size > 1000)
      for (const [other, feed] of this.#byQuestion) if (feed.isIdle) this.#byQuestion.delete(other);
    const feed = new Feed(this.#cache, place, wants);
    this.#byQuestion.set(question, feed);
    return feed;
  }
}

/** What an event means to a watcher with a selector: an object that starts to match is added, one that stops is deleted. */
function translate(event: CacheEvent, wants: (stored: Stored) => boolean): WatchEvent | undefined {
  const { current, previous, deleted } = event;
  const was = previous !== undefined && wants(previous);
  const is = current !== undefined && wants(current);
  if (is) return sent(was ? "MODIFIED" : "ADDED", current);
  if (!was) return undefined;
  return deleted ? sent("DELETED", deleted) : sent("DELETED", at(previous, event.revision));
}

/** The object as it last matched, with the revision at which it stopped to. */
function at(stored: Stored, revision: Revision): EncodedObject {
  const object = { ...stored.object, metadata: { ...stored.object.metadata, resourceVersion: String(revision) } };
  return { object, json: encoder.encode(JSON.stringify(object)) };
}

const encoder = new TextEncoder();
const heads = Object.fromEntries(
  (["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"] as const).map((type) => [
    type,
    encoder.encode(`{"type":"${type}","object":`),
  ]),
) as Readonly<Record<WatchEventType, Uint8Array>>;
const tail = encoder.encode("}\n");

const sent = (type: WatchEventType, stored: EncodedObject): WatchEvent => ({
  type,
  get object() {
    return stored.object;
  },
  json: () => frame(type, stored.json),
});

export const plain = (type: WatchEventType, object: object): WatchEvent => ({
  type,
  object,
  json: () => frame(type, encoder.encode(JSON.stringify(object))),
});

function frame(type: WatchEventType, json: Uint8Array): Uint8Array {
  const head = heads[type];
  const line = new Uint8Array(head.length + json.length + tail.length);
  line.set(head);
  line.set(json, head.length);
  line.set(tail, head.length + json.length);
  return line;
}

export const bookmarkAt = (bookmark: object, revision: Revision, endsInitial: boolean): WatchEvent =>
  plain("BOOKMARK", {
    ...bookmark,
    metadata: {
      resourceVersion: String(revision),
      creationTimestamp: null,
      ...(endsInitial && { annotations: { "k8s.io/initial-events-end": "true" } }),
    },
  });
