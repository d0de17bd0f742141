// One client's watch: what of the cache's events it wants, and a bounded backlog until it has taken them.
import type { Clock } from "#base/clock.ts";
import type { ApiError } from "#base/errors.ts";
import type { Revision } from "#store/engine.ts";
import type { WatchEvent, WatchEventType } from "#wire/api-request.ts";
import { statusOf, tooOld } from "#wire/status.ts";
import type { StoreFollower } from "./store-follower.ts";
import type { Stored } from "./stored.ts";
import type { CacheEvent, CacheListener, WatchCache } from "./watch-cache.ts";

/** A watcher that lags this far behind is ended; its client lists again. */
const backlog = 10_000;

/** How often a client that asked for it learns how far it has come although nothing happened. */
const bookmarkEveryMs = 60_000;

export interface WatcherOptions {
  readonly cache: WatchCache;
  readonly follower: StoreFollower;
  readonly clock: Clock;
  /** Which objects the client wants to know of. */
  readonly wants: (stored: Stored) => boolean;
  /** Events after this revision are sent. */
  readonly from: Revision;
  /** Sent before anything else, as ADDED. */
  readonly initial: readonly Stored[];
  /** What a bookmark contains besides its resourceVersion; undefined sends none. */
  readonly bookmark: object | undefined;
  /** Whether a bookmark marks the end of the initial objects. */
  readonly marksInitial: boolean;
}

/** The events of one watch, in batches of all that is ready. Ends with the signal, or with an ERROR event. */
export async function* watchEvents(
  options: WatcherOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly WatchEvent[]> {
  const { cache, follower, clock, wants, from, initial, bookmark, marksInitial } = options;
  let ready: WatchEvent[] = initial.map((stored) => sent("ADDED", stored));
  let wake: (() => void) | undefined;
  let failure: ApiError | undefined;

  const notify = () => {
    wake?.();
    wake = undefined;
  };
  const take = (events: readonly CacheEvent[]) => {
    for (const event of events) {
      if (event.revision <= from) continue;
      const out = translate(event, wants);
      if (out) ready.push(out);
    }
    if (ready.length > backlog) failure = tooOld(from, cache.oldest);
  };
  const listener: CacheListener = {
    events(events) {
      take(events);
      if (ready.length > 0) notify();
    },
    reset() {
      failure = tooOld(from, cache.oldest);
      notify();
    },
  };

  const unlisten = cache.listen(listener);
  signal.addEventListener("abort", notify, { once: true });
  let cancelBookmark: (() => void) | undefined;
  const scheduleBookmark = (event: object) => {
    cancelBookmark = clock.after(bookmarkEveryMs, () => {
      ready.push(bookmarkAt(event, follower.revision, false));
      notify();
      scheduleBookmark(event);
    });
  };
  try {
    take(cache.since(from));
    if (bookmark) {
      if (marksInitial) ready.push(bookmarkAt(bookmark, from, true));
      scheduleBookmark(bookmark);
    }
    while (!signal.aborted) {
      if (failure) {
        yield [plain("ERROR", statusOf(failure))];
        return;
      }
      if (ready.length > 0) {
        const batch = ready;
        ready = [];
        yield batch;
      } else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    cancelBookmark?.();
    unlisten();
    signal.removeEventListener("abort", notify);
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
function at(stored: Stored, revision: Revision): Stored {
  const object = { ...stored.object, metadata: { ...stored.object.metadata, resourceVersion: String(revision) } };
  return { key: stored.key, revision, object, json: encoder.encode(JSON.stringify(object)) };
}

const encoder = new TextEncoder();
const heads = Object.fromEntries(
  (["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"] as const).map((type) => [
    type,
    encoder.encode(`{"type":"${type}","object":`),
  ]),
) as Readonly<Record<WatchEventType, Uint8Array>>;
const tail = encoder.encode("}\n");

/** Lines already made, by object and type: many watchers send the same. */
const lines = new WeakMap<Stored, Partial<Record<WatchEventType, Uint8Array>>>();

function sent(type: WatchEventType, stored: Stored): WatchEvent {
  return {
    type,
    object: stored.object,
    json() {
      const made = lines.get(stored) ?? {};
      const line = made[type] ?? frame(type, stored.json);
      made[type] = line;
      lines.set(stored, made);
      return line;
    },
  };
}

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
