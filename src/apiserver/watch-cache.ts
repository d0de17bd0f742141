// All objects of one resource in memory, with the recent past as a ring of events. Gets, lists and watches are served from here.
// The store's follower (store-follower.ts) keeps it current. A resource whose objects are many and seldom read, such as Events, has
// only the ring: its gets and lists go to the store, as upstream's do (cmd/kube-apiserver/app/options, default watch cache sizes).
import { breathe } from "#base/breathe.ts";
import { prefixEnd, SortedMap } from "#base/sorted-map.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type Change, type Entry, type Revision, TransformError } from "#store/engine.ts";
import type { StoredForm, StoredObject } from "./stored.ts";

/** A change as watchers see it. */
export interface CacheEvent {
  readonly revision: Revision;
  readonly current: StoredObject | undefined;
  readonly previous: StoredObject | undefined;
  /** The last state of a deleted object, at the revision of its deletion. */
  readonly deleted: StoredObject | undefined;
}

export interface CacheListener {
  /** Called with new events once they are in the cache, in order. */
  events(events: readonly CacheEvent[]): void;
  /** The cache had to start anew: whoever follows events must list again. */
  reset(): void;
  /** The kind is no longer served: there will be no more events. Built-in kinds are always served. */
  end?(): void;
}

/**
 * Where a listener can listen: everywhere, at the keys that start with a namespace, at one key, or at the objects on a node. A
 * thousand kubelets watch pods, each those of its own node.
 */
export const everywhere = "";
export const atNode = (name: string): string => `spec.nodeName=${name}`;

function placesOf({ current, previous }: CacheEvent): Iterable<string> {
  const { key } = (current ?? previous) as StoredObject;
  const places = new Set([key, key.slice(0, key.lastIndexOf("/") + 1)]);
  for (const stored of [current, previous]) {
    const node = (stored?.object.spec as { readonly nodeName?: unknown } | undefined)?.nodeName;
    if (typeof node === "string") places.add(atNode(node));
  }
  return places;
}

const openingBrace = 0x7b;

/** The cache of a stored kind. */
export type CacheOf = (kind: AnyKind) => WatchCache;

/** How many events are kept at most for watchers that start in the past, and how many however old they are. */
const ringSize = 2048;
const keptSize = 1024;
/** How many of the objects written last are kept as objects. A thousand cost the collector as much as a create costs to validate. */
const freshSize = 32;
/** What was written so many revisions ago, of whatever kind, is fresh no more: until then the store has its bytes in memory, too. */
const freshRevisions = 1024;

/** What is stored under a key and cannot be read, such as a value under a lost key of encryption. */
interface UnreadableObject {
  readonly revision: Revision;
  readonly error: TransformError;
}

export class WatchCache {
  readonly prefix: string;
  /** Whether the present objects are here; otherwise only the store has them. */
  readonly keepsObjects: boolean;
  readonly #form: StoredForm;
  readonly #objects = new SortedMap<StoredObject>();
  /** The same by key: lookups by key are ten times as frequent as ranges. */
  readonly #byKey = new Map<string, StoredObject>();
  /** Objects that are there and cannot be read. They are in none of the above, so that they do not take others with them. */
  readonly #unreadable = new Map<string, UnreadableObject>();
  readonly #onUnreadable: (error: TransformError) => void;
  readonly #ring: CacheEvent[] = [];
  /** Lists that were made since the last change: twenty clients that list at the same time share one. */
  readonly #lists = new Map<string, readonly StoredObject[]>();
  /** Listeners by their scope, so that an event is shown only to listeners that it may concern. */
  readonly #listeners = new Map<string, Set<CacheListener>>();
  /** What was written last and has not settled, oldest first. */
  readonly #fresh: StoredObject[] = [];
  /** How many parts of this process hold every object of this cache. */
  #holders = 0;
  /** Whether what settles does so as objects: one who holds them may be gone for a moment, and come back. */
  #isHeld = false;
  #isAbandoned = false;
  /** Events after this one are in the ring. */
  #oldest: Revision = 0;
  #received = 0;
  #isClosed = false;
  /** How many objects there are, also if they are not kept. */
  #size = 0;
  /** Of those objects, about. */
  #bytes = 0;

  constructor(
    prefix: string,
    form: StoredForm,
    keepsObjects = true,
    onUnreadable: (error: TransformError) => void = () => undefined,
  ) {
    this.prefix = prefix;
    this.#form = form;
    this.keepsObjects = keepsObjects;
    this.#onUnreadable = onUnreadable;
  }

  /** The oldest revision a watcher may start from. */
  get oldest(): Revision {
    return this.#oldest;
  }

  /** How many objects there are, how large they are together, and how many changes to them came since the start. */
  get size(): number {
    return this.#size;
  }
  get bytes(): number {
    return this.#bytes;
  }
  get received(): number {
    return this.#received;
  }

  /** Whether the kind is no longer served. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get(key: string): StoredObject | undefined {
    this.#mustKeepObjects();
    return this.#byKey.get(key);
  }

  /** Why the object of a key, or one of those whose key starts with a prefix, is there and yet not in this cache. */
  unreadable(key: string): TransformError | undefined {
    return this.#unreadable.get(key)?.error;
  }
  unreadableUnder(prefix: string): TransformError | undefined {
    for (const [key, { error }] of this.#unreadable) if (key.startsWith(prefix)) return error;
    return undefined;
  }
  get unreadableKeys(): readonly string[] {
    return [...this.#unreadable.keys()];
  }

  /** Objects whose key starts with `prefix`, in order; `after` skips all up to that key. */
  range(prefix: string, after?: string): Generator<[string, StoredObject]> {
    this.#mustKeepObjects();
    return this.#objects.range(after === undefined ? prefix : `${after}\0`, prefixEnd(prefix));
  }

  /** All objects whose key starts with `prefix`, in order; the same array until something changes, so it must not be changed. */
  list(prefix: string): readonly StoredObject[] {
    this.#mustKeepObjects();
    const known = this.#lists.get(prefix);
    if (known) return known;
    const list = this.#objects.values(prefix, prefixEnd(prefix));
    this.#lists.set(prefix, list);
    return list;
  }

  count(prefix: string, after?: string): number {
    this.#mustKeepObjects();
    return this.#objects.count(after === undefined ? prefix : `${after}\0`, prefixEnd(prefix));
  }

  /**
   * Events after `from`, oldest first: all, or about the first `most`, but no revision in part. The caller has checked that `from` is not
   * before `oldest`.
   */
  since(from: Revision, most = Number.POSITIVE_INFINITY): readonly CacheEvent[] {
    const ring = this.#ring;
    let start = ring.length;
    while (start > 0 && (ring[start - 1] as CacheEvent).revision > from) start--;
    let end = Math.min(start + most, ring.length);
    while (end < ring.length && ring[end]?.revision === ring[end - 1]?.revision) end++;
    return ring.slice(start, end);
  }

  /** Turns past changes into events. The replaced objects must still be known. */
  eventsOf(changes: readonly Change[]): readonly CacheEvent[] {
    return changes.map((change) => this.#toEvent(change, change.previous && this.#form.of(change.previous)));
  }

  /** At a place other than `everywhere`, a listener is shown events of that place, and perhaps a few others. */
  listen(listener: CacheListener, place = everywhere): () => void {
    const here = this.#listeners.get(place) ?? new Set();
    this.#listeners.set(place, here.add(listener));
    return () => {
      here.delete(listener);
      if (here.size === 0 && this.#listeners.get(place) === here) this.#listeners.delete(place);
    };
  }

  /** The caller holds every object of the cache from now on, until it calls the returned function. */
  hold(): () => void {
    this.#holders++;
    this.#isHeld = true;
    this.#isAbandoned = false;
    return () => void this.#holders--;
  }

  /** Starts anew with what the store holds at a revision. */
  fill(entries: readonly Entry[], at: Revision): void {
    this.#objects.clear();
    this.#byKey.clear();
    this.#lists.clear();
    this.#ring.length = 0;
    this.#oldest = at;
    this.#fresh.length = 0;
    this.#unreadable.clear();
    this.#size = entries.length;
    this.#bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
    for (const entry of this.keepsObjects ? entries : []) {
      const stored = this.#readable(entry, (found) => found.settle(this.#isHeld));
      if (stored) this.#set(entry.key, stored);
    }
    this.#form.passed(at);
    this.#resetListeners();
  }

  /** Takes in what could not be read before, if it has not changed since. `at` is how far all caches are. */
  heal(entry: Entry, at: Revision): void {
    if (!this.#isUnreadable(entry)) return;
    const stored = this.#readable(entry, (found) => found.settle(this.#isHeld));
    if (!stored) return;
    this.#lists.clear();
    this.#set(entry.key, stored);
    this.#forgetEvents(at);
  }

  /** Ends all watches. Requests that are under way still read what was here last. */
  close(): void {
    this.#isClosed = true;
    for (const here of [...this.#listeners.values()]) for (const listener of [...here]) listener.end?.();
  }

  apply(changes: readonly Change[]): void {
    this.#lists.clear();
    this.#received += changes.length;
    const events = changes.flatMap((change) => this.#take(change) ?? []);
    const last = changes.at(-1)?.entry.modified ?? 0;
    this.#form.passed(last);
    for (const event of events) this.#fresh.push(...this.#madeFor(event));
    if (changes.some(({ entry }) => this.#isUnreadable(entry))) {
      // Whoever watches reads the past from the store now, and meets the change there that nobody can read.
      this.#forgetEvents(last);
      return;
    }
    this.#ring.push(...events);
    if (this.#ring.length > ringSize * 1.25) this.#drop(this.#ring.length - ringSize);
    this.#tell(everywhere, events);
    if (this.#listeners.size === 0 || (this.#listeners.size === 1 && this.#listeners.has(everywhere))) return;
    const byPlace = new Map<string, CacheEvent[]>();
    for (const event of events)
      for (const place of placesOf(event)) {
        if (!this.#listeners.has(place)) continue;
        const here = byPlace.get(place);
        if (here) here.push(event);
        else byPlace.set(place, [event]);
      }
    for (const [place, here] of byPlace) this.#tell(place, here);
  }

  /** Lets go of events up to a revision, but not of the newest: each keeps an object that is no more. */
  forget(revision: Revision): void {
    const most = this.#ring.length - keptSize;
    let count = 0;
    while (count < most && (this.#ring[count] as CacheEvent).revision <= revision) count++;
    this.#drop(count);
  }

  /**
   * An object that was just written is soon asked for again, first of all by the informers of this process, before the next changes come.
   * Later it is in one form, unless someone asks after that. To be called before changes are applied.
   */
  settle(newest: Revision): void {
    const fresh = this.#fresh;
    if (fresh.length === 0) return;
    const most = this.#isHeld || fresh.length < freshSize * 1.25 ? fresh.length : freshSize;
    let count = fresh.length - most;
    while (count < fresh.length && (fresh[count] as StoredObject).revision <= newest - freshRevisions) count++;
    if (count > 0) for (const stored of fresh.splice(0, count)) stored.settle(this.#isHeld);
  }

  /** Drops second forms of objects that were not read since the last call. */
  async rest(): Promise<void> {
    const pause = breathe();
    for (const stored of this.#form.warm) {
      if (stored.takeAsked()) continue;
      this.#form.warm.delete(stored);
      stored.settle(this.#isHeld);
      if (pause.due()) await pause.now();
    }
    if (this.#holders > 0 || !this.#isHeld) return;
    this.#isHeld = !this.#isAbandoned;
    this.#isAbandoned = true;
    if (this.#isHeld || !this.keepsObjects) return;
    for (const stored of this.list(this.prefix)) {
      stored.settle(this.#isHeld);
      if (pause.due()) await pause.now();
    }
  }

  #drop(count: number): void {
    const last = this.#ring.splice(0, count).at(-1);
    if (last) this.#oldest = last.revision;
  }

  #tell(place: string, events: readonly CacheEvent[]): void {
    for (const listener of this.#listeners.get(place) ?? []) listener.events(events);
  }

  /** The event that a change is to watchers; undefined of one that nobody can read. */
  #take(change: Change): CacheEvent | undefined {
    const { key, created, modified } = change.entry;
    if (change.type === "delete") this.#size--;
    else if (created === modified) this.#size++;
    if (!this.keepsObjects) {
      if (change.entry.unreadable) {
        this.#onUnreadable(change.entry.unreadable);
        return undefined;
      }
      const { previous } = change;
      const known = previous && !previous.unreadable ? this.#form.of(previous) : undefined;
      const event = this.#toEvent(change, known);
      this.#bytes += (event.current?.size ?? 0) - (known?.size ?? 0);
      return event;
    }
    const wasUnreadable = this.#unreadable.size > 0 && this.#unreadable.delete(key);
    const previous = this.#byKey.get(key);
    // What another server wrote may be anything; what this one wrote is here as an object.
    const current =
      change.type === "put" ? this.#readable(change.entry, (found) => found.held ?? found.object) : undefined;
    this.#bytes += (current?.size ?? 0) - (previous?.size ?? 0);
    if (current) this.#set(key, current);
    else {
      this.#objects.delete(key);
      this.#byKey.delete(key);
    }
    if (!current && (change.type === "put" || wasUnreadable)) return undefined;
    return this.#toEvent(change, previous, current);
  }

  /** The stored object of an entry, once `use` has been made of it. What cannot be read is put aside, and undefined. */
  #readable(entry: Entry, use: (stored: StoredObject) => void): StoredObject | undefined {
    const { key, modified } = entry;
    try {
      const stored = this.#form.of(entry);
      if (entry.value[0] !== openingBrace) throw new Error("the stored data is no JSON object");
      use(stored);
      this.#unreadable.delete(key);
      return stored;
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      const error =
        cause instanceof TransformError
          ? cause
          : new TransformError(`unable to decode key ${JSON.stringify(key)}: ${why}`, { cause });
      this.#unreadable.set(key, { revision: modified, error });
      this.#onUnreadable(error);
      return undefined;
    }
  }

  #isUnreadable({ key, modified }: Entry): boolean {
    return this.#unreadable.size > 0 && this.#unreadable.get(key)?.revision === modified;
  }

  /** What has not settled yet: events are kept longer than the memory may be that the store had a change in. */
  #madeFor({ current, previous, deleted }: CacheEvent): readonly StoredObject[] {
    const made = this.keepsObjects ? [current, deleted] : [previous, current, deleted];
    return made.filter((stored) => stored !== undefined);
  }

  /** Whoever follows events must read the past from the store, or list again. */
  #forgetEvents(at: Revision): void {
    this.#ring.length = 0;
    this.#oldest = at;
    this.#resetListeners();
  }

  #resetListeners(): void {
    for (const here of [...this.#listeners.values()]) for (const listener of [...here]) listener.reset();
  }

  #mustKeepObjects(): void {
    if (!this.keepsObjects) throw new Error(`${this.prefix}: objects are not in memory; read them from the store`);
  }

  #set(key: string, stored: StoredObject): void {
    this.#objects.set(key, stored);
    this.#byKey.set(key, stored);
  }

  #toEvent(change: Change, previous: StoredObject | undefined, known?: StoredObject): CacheEvent {
    const { type, entry } = change;
    const { modified: revision } = entry;
    if (type === "put") return { revision, current: known ?? this.#form.of(entry), previous, deleted: undefined };
    const before = previous ? undefined : change.previous;
    const deleted = previous ? previous.deleted(revision) : before && this.#form.of(before, revision);
    return { revision, current: undefined, previous, deleted };
  }
}
