// The reference engine: everything in memory, nothing kept. Read this one to know what the others must do.
import type { Clock } from "#base/clock.ts";
import { prefixEnd, SortedMap } from "#base/sorted-map.ts";
import type { StoreImage } from "./copy.ts";
import {
  type Change,
  Compacted,
  Conflict,
  type Entry,
  FutureRevision,
  type Page,
  type PutOptions,
  type RangeOptions,
  type Revision,
  type StoreEngine,
  type StoreStatus,
  Unavailable,
  type WatchBatch,
} from "./engine.ts";
import { checkKey } from "./key.ts";
import { Leases } from "./leases.ts";
import { countOfPast, itemsOfPast, type Undo } from "./past.ts";
import { Retention, type RetentionOptions } from "./retention.ts";
import { WatchHub } from "./watch-hub.ts";

export interface MemoryStoreOptions extends RetentionOptions {
  readonly clock: Clock;
}

/** How many changes a watcher that is behind gets at once. */
const batch = 1_000;

export class MemoryStore implements StoreEngine {
  readonly #present = new SortedMap<Entry>();
  /** Every change after `#compacted`, one per revision, so that revision r is at r - #compacted - 1. */
  #log: Change[] = [];
  #revision: Revision = 1;
  #compacted: Revision = 1;
  #closed = false;
  readonly #leases: Leases;
  readonly #retention: Retention;
  readonly #hub: WatchHub;

  constructor({ clock, ...retention }: MemoryStoreOptions) {
    this.#leases = new Leases(clock, (key, modified) => {
      if (this.#present.get(key)?.modified === modified) this.#remove(key);
    });
    this.#retention = new Retention(clock, retention, (revision) => this.#forget(revision));
    this.#hub = new WatchHub(
      {
        newest: () => this.#revision,
        oldest: () => this.#compacted,
        read: (prefix, after) => this.#changes(prefix, after),
      },
      clock,
    );
  }

  async get(key: string, signal?: AbortSignal): Promise<Entry | undefined> {
    this.#ready("get", signal);
    return this.#present.get(key);
  }

  async list(prefix: string, options: RangeOptions = {}, signal?: AbortSignal): Promise<Page> {
    this.#ready("list", signal);
    const { at = this.#revision, after, limit = Infinity } = options;
    const undo = this.#undo(at);
    const start = after === undefined || after < prefix ? prefix : `${after}\0`;
    const end = prefixEnd(prefix);
    const entries = itemsOfPast(this.#present, undo, { start, end }, limit).map(([, entry]) => entry);
    const last = entries.at(-1);
    const remaining = last ? countOfPast(this.#present, undo, { start: `${last.key}\0`, end }) : 0;
    return { entries, revision: at, remaining };
  }

  async put(key: string, value: Uint8Array, expected: Revision, { ttlSeconds }: PutOptions = {}): Promise<Entry> {
    this.#ready("put");
    checkKey(key);
    const previous = this.#expect(key, expected);
    const modified = this.#revision + 1;
    const entry = { key, value, created: previous?.created ?? modified, modified };
    this.#present.set(key, entry);
    this.#leases.set(key, modified, ttlSeconds === undefined ? undefined : ttlSeconds * 1000);
    this.#append({ type: "put", entry, ...(previous && { previous }) });
    return entry;
  }

  async delete(key: string, expected: Revision): Promise<Revision> {
    this.#ready("delete");
    if (!this.#expect(key, expected)) throw new Conflict(key, expected, undefined);
    return this.#remove(key);
  }

  watch(prefix: string, from: Revision, signal: AbortSignal): AsyncIterable<WatchBatch> {
    return this.#hub.watch(prefix, from, signal);
  }

  async revision(signal?: AbortSignal): Promise<Revision> {
    this.#ready("revision", signal);
    return this.#revision;
  }

  newest(): Revision {
    this.#ready("revision");
    return this.#revision;
  }

  async compact(revision: Revision): Promise<void> {
    this.#ready("compact");
    if (revision > this.#revision) throw new FutureRevision(revision, this.#revision);
    this.#forget(revision);
  }

  async status(signal?: AbortSignal): Promise<StoreStatus> {
    this.#ready("status", signal);
    return {
      revision: this.#revision,
      compacted: this.#compacted,
      sizeBytes: undefined,
      usedBytes: undefined,
      alarm: undefined,
    };
  }

  /** How long the key has to live, if not for ever. */
  ttlSeconds(key: string): number | undefined {
    const left = this.#leases.leftMs(key);
    return left === undefined ? undefined : left / 1000;
  }

  /** Takes in what another store holds, with its revisions. Only a fresh store can. */
  async adopt({ revision, entries }: StoreImage): Promise<void> {
    this.#ready("adopt");
    if (this.#revision > 1) throw new Error("adopt: the store is not fresh");
    const temporary: (readonly [string, Revision, number])[] = [];
    for await (const { ttlSeconds, ...entry } of entries) {
      this.#present.set(entry.key, entry);
      if (ttlSeconds !== undefined) temporary.push([entry.key, entry.modified, ttlSeconds * 1000]);
    }
    this.#revision = this.#compacted = revision;
    // Only now: what has run out is deleted by a write, whose revision has to be beyond all others.
    for (const [key, modified, ttlMs] of temporary) this.#leases.set(key, modified, ttlMs);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#leases.stop();
    this.#retention.stop();
    this.#hub.end();
  }

  #ready(what: string, signal?: AbortSignal): void {
    signal?.throwIfAborted();
    if (this.#closed) throw new Unavailable(`${what}: the store is closed`);
  }

  /** The present entry, if it is the one the writer expects. */
  #expect(key: string, expected: Revision): Entry | undefined {
    const present = this.#present.get(key);
    if ((present?.modified ?? 0) !== expected) throw new Conflict(key, expected, present);
    return present;
  }

  #remove(key: string): Revision {
    const previous = this.#present.get(key);
    if (!previous) throw new Error(`remove ${key}: it is absent`);
    const modified = this.#revision + 1;
    this.#present.delete(key);
    this.#leases.set(key, modified, undefined);
    this.#append({
      type: "delete",
      entry: { key, value: new Uint8Array(), created: previous.created, modified },
      previous,
    });
    return modified;
  }

  #append(change: Change): void {
    this.#revision = change.entry.modified;
    this.#log.push(change);
    this.#retention.wrote(this.#revision);
    this.#hub.publish([change]);
  }

  #undo(at: Revision): Undo<Entry> {
    if (at > this.#revision) throw new FutureRevision(at, this.#revision);
    if (at < this.#compacted) throw new Compacted(at, this.#compacted);
    const undo = new Map<string, Entry | undefined>();
    for (let i = at - this.#compacted; i < this.#log.length; i++) {
      const { entry, previous } = this.#log[i] as Change;
      if (!undo.has(entry.key)) undo.set(entry.key, previous);
    }
    return undo;
  }

  #changes(prefix: string, after: Revision): WatchBatch {
    const from = after - this.#compacted;
    const changes = this.#log.slice(from, from + batch);
    return {
      changes: changes.filter(({ entry }) => entry.key.startsWith(prefix)),
      revision: after + changes.length,
    };
  }

  #forget(revision: Revision): void {
    if (revision <= this.#compacted) return;
    this.#log = this.#log.slice(revision - this.#compacted);
    this.#compacted = revision;
  }
}
