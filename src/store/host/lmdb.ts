// The embedded engine: one LMDB file in a folder, held by one process.
//
// A write is one record appended to the log under its revision, and is answered when the log is flushed; many writers share
// a flush. The index (key → revision of its value) is in memory. On disk it follows the log at checkpoints, and is brought up
// from it at the next start. Two states of a key matter: what is on disk, which everyone reads, and what has been handed to
// the disk, against which the next writer is checked. Layout and guarantees: docs/store.md.
import { chmodSync } from "node:fs";
import { breathe } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import type { FolderLock } from "#base/host/folder-lock.ts";
import { type Log, silentLog } from "#base/log.ts";
import { type Random, systemRandom } from "#base/random.ts";
import { prefixEnd, type SortedMap } from "#base/sorted-map.ts";
import type { StoreImage } from "../copy.ts";
import {
  type BegunWrite,
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
} from "../engine.ts";
import { checkKey } from "../key.ts";
import { Leases } from "../leases.ts";
import { countOfPast, itemsOfPast } from "../past.ts";
import { Retention, type RetentionOptions } from "../retention.ts";
import { WatchHub } from "../watch-hub.ts";
import { Committer } from "./lmdb-commit.ts";
import { LmdbHistory } from "./lmdb-history.ts";
import { HolderDesk, type StoreFigures, type StoreHolder } from "./lmdb-holder.ts";
import { type Databases, load, type OpenedFile, openFolder } from "./lmdb-open.ts";
import { afterwards, type Expiry, type IndexEntry, type LogRecord } from "./lmdb-records.ts";
import { LmdbUpkeep } from "./lmdb-upkeep.ts";
import { LmdbWrite, Slab, type WriteContext } from "./lmdb-write.ts";
import { Reserve } from "./reserve.ts";
import { syncFile } from "./write-durably.ts";

export interface LmdbStoreOptions extends RetentionOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly log?: Log;
  readonly random?: Random;
  /** Puts are refused while more bytes than this are in use; defaults to 8 GiB. */
  readonly quotaBytes?: number;
}

/** Opens the store in a folder, or makes one if there never was one. Rejects with an error that says what to do. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<LmdbStore> {
  const { databases, lock } = await openFolder(options.folder, options.random ?? systemRandom);
  try {
    return new LmdbStore({ ...options, databases, lock, loaded: await load(databases) });
  } catch (error) {
    await databases.root.close();
    lock.release();
    throw error;
  }
}

interface Parts extends LmdbStoreOptions {
  readonly databases: Databases;
  readonly lock: FolderLock;
  readonly loaded: OpenedFile;
}

const nothing = new Uint8Array();
const listChunk = 500;
const expiryRetryMs = 1_000;
const deletion: PutOptions = { makesRoom: true };

export class LmdbStore implements StoreEngine, StoreHolder {
  readonly #databases: Databases;
  readonly #lock: FolderLock;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #index: SortedMap<IndexEntry>;
  readonly #history: LmdbHistory;
  readonly #committer: Committer;
  readonly #upkeep: LmdbUpkeep;
  readonly #leases: Leases;
  readonly #retention: Retention;
  readonly #hub: WatchHub;
  readonly #writes: WriteContext;
  readonly #desk: HolderDesk;
  /** Writes that are on disk, and are told to everyone in the same turn. */
  #landed: LogRecord[] = [];
  #next: Revision;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { databases, clock, loaded, log = silentLog } = parts;
    this.#databases = databases;
    this.#writes = {
      log: databases.log,
      pending: new Map(),
      slab: new Slab(),
      land: (record) => this.#land(record),
      present: (key) => this.#present(key),
    };
    this.#lock = parts.lock;
    this.#clock = clock;
    this.#log = log;
    this.#index = loaded.index;
    this.#next = loaded.newest + 1;
    this.#history = new LmdbHistory(databases, loaded.newest, loaded.compacted);
    this.#hub = new WatchHub(this.#history, clock);
    const reserve = new Reserve(parts.folder, clock);
    this.#committer = new Committer(databases, {
      afterAnswers: () => this.#told(),
      outOfSpace: (error) => this.#upkeep.diskIsFull(error),
      room: () => reserve.room(),
    });
    this.#upkeep = new LmdbUpkeep({ ...parts, log, history: this.#history, committer: this.#committer, reserve });
    this.#retention = new Retention(clock, parts, (revision) => this.#upkeep.forgetInBackground(revision));
    this.#leases = new Leases(clock, (key, modified) => void this.#expire(key, modified));
    for (const [key, { modified, expiry }] of loaded.index.range())
      if (expiry) this.#leases.set(key, modified, leftMs(expiry, clock));
    this.#desk = new HolderDesk(parts.folder, this, log);
  }

  async get(key: string, signal?: AbortSignal): Promise<Entry | undefined> {
    this.#ready("get", signal);
    return this.#present(key);
  }

  async list(prefix: string, options: RangeOptions = {}, signal?: AbortSignal): Promise<Page> {
    for (;;) {
      this.#ready("list", signal);
      const at = options.at ?? this.#history.newest();
      if (at > this.#history.newest()) throw new FutureRevision(at, this.#history.newest());
      try {
        return await this.#listAt(at, prefix, options, signal);
      } catch (error) {
        // Compacted while it was read; who asked for no revision gets a newer one.
        if (!(error instanceof Compacted && options.at === undefined)) throw error;
      }
    }
  }

  async put(key: string, value: Uint8Array, expected: Revision, options: PutOptions = {}): Promise<Entry> {
    const begun = this.begin(key, value, expected, options);
    if (begun) {
      await begun.durable;
      return begun.entry;
    }
    return entryOf(await this.#write(key, value, expected, options));
  }

  begin(key: string, value: Uint8Array, expected: Revision, options: PutOptions = {}): BegunWrite | undefined {
    this.#ready("put");
    checkKey(key);
    if (!options.makesRoom) this.#upkeep.refuseIfFull();
    const write = this.#handOver(key, value, expected, options);
    if (!write) return undefined;
    return { entry: entryOf(write.record), durable: write.promise };
  }

  async delete(key: string, expected: Revision): Promise<Revision> {
    this.#ready("delete");
    if (expected === 0) throw new Conflict(key, 0, this.#present(key));
    return (await this.#write(key, undefined, expected, deletion)).revision;
  }

  watch(prefix: string, from: Revision, signal: AbortSignal): AsyncIterable<WatchBatch> {
    return this.#hub.watch(prefix, from, signal);
  }

  async revision(signal?: AbortSignal): Promise<Revision> {
    this.#ready("revision", signal);
    return this.#history.newest();
  }

  newest(): Revision {
    this.#ready("revision");
    return this.#history.newest();
  }

  async compact(revision: Revision): Promise<void> {
    this.#ready("compact");
    if (revision > this.#history.newest()) throw new FutureRevision(revision, this.#history.newest());
    await this.#upkeep.forget(revision);
  }

  async status(signal?: AbortSignal): Promise<StoreStatus> {
    this.#ready("status", signal);
    const { sizeBytes, usedBytes } = this.#upkeep.measure();
    return {
      revision: this.#history.newest(),
      compacted: this.#history.oldest(),
      sizeBytes,
      usedBytes,
      alarm: this.#committer.broken?.message ?? this.#upkeep.alarm,
    };
  }

  async figures(): Promise<StoreFigures> {
    this.#ready("figures");
    return {
      revision: this.#history.newest(),
      compacted: this.#history.oldest(),
      keys: this.#index.size,
      ...this.#upkeep.measure(),
    };
  }

  /** Writes a consistent copy to a new file while the store goes on working; the copy is as small as it can be. */
  async snapshot(path: string): Promise<void> {
    this.#ready("snapshot");
    await this.#databases.root.backup(path, true);
    chmodSync(path, 0o600);
    syncFile(path);
  }

  /** How long the key has to live, if not for ever. */
  ttlSeconds(key: string): number | undefined {
    const left = this.#leases.leftMs(key);
    return left === undefined ? undefined : left / 1000;
  }

  /** Takes in what another store holds, with its revisions. Only a fresh store can; one that was interrupted cannot be opened. */
  async adopt({ revision, entries }: StoreImage): Promise<void> {
    this.#ready("adopt");
    if (this.#next > 2) throw new Error(`adopt: store ${this.#databases.path} is not fresh`);
    const temporary: (readonly [string, Revision, Expiry])[] = [];
    await this.#upkeep.adopt(revision, entries, (key, indexed) => {
      this.#index.set(key, indexed);
      if (indexed.expiry) temporary.push([key, indexed.modified, indexed.expiry]);
    });
    this.#next = revision + 1;
    // Only now: what has run out is deleted by a write, whose revision has to be beyond all others.
    for (const [key, modified, expiry] of temporary) this.#leases.set(key, modified, leftMs(expiry, this.#clock));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#hub.end();
    this.#leases.stop();
    this.#retention.stop();
    await this.#desk.close();
    try {
      await this.#committer.settled();
      if (!this.#committer.broken) await this.#upkeep.end();
    } finally {
      await this.#databases.root.close();
      this.#lock.release();
    }
  }

  #ready(what: string, signal?: AbortSignal): void {
    signal?.throwIfAborted();
    if (this.#closing) throw new Unavailable(`${what}: the store is closed`);
  }

  #present(key: string): Entry | undefined {
    const indexed = this.#index.get(key);
    return indexed && this.#history.entry(key, indexed);
  }

  async #listAt(at: Revision, prefix: string, options: RangeOptions, signal?: AbortSignal): Promise<Page> {
    const { after, limit = Infinity } = options;
    const end = prefixEnd(prefix);
    let start = after === undefined || after < prefix ? prefix : `${after}\0`;
    const entries: Entry[] = [];
    const pause = breathe();
    for (;;) {
      if (at < this.#history.oldest()) throw new Compacted(at, this.#history.oldest());
      const undo = await this.#history.undo(at);
      if (entries.length >= limit) {
        const remaining = countOfPast(this.#index, undo, { start, end });
        return { entries, revision: at, remaining };
      }
      const items = itemsOfPast(this.#index, undo, { start, end }, Math.min(listChunk, limit - entries.length));
      if (items.length === 0) return { entries, revision: at, remaining: 0 };
      for (const [key, indexed] of items) {
        if (pause.due()) {
          await pause.now();
          this.#ready("list", signal);
          if (at < this.#history.oldest()) throw new Compacted(at, this.#history.oldest());
        }
        entries.push(this.#history.entry(key, indexed));
        start = `${key}\0`;
      }
    }
  }

  /** Writes as soon as nothing stands against it any more, or refuses; an undefined value deletes. */
  async #write(
    key: string,
    value: Uint8Array | undefined,
    expected: Revision,
    options: PutOptions,
  ): Promise<LogRecord> {
    for (;;) {
      const write = this.#handOver(key, value, expected, options);
      if (write) return await write.promise;
      await this.#writes.pending.get(key)?.settled();
      this.#ready("write");
    }
  }

  /**
   * Hands the write to the disk if the last one handed over is what the writer expects. If it is not but may yet fail, gives
   * undefined: a refusal, too, must rest on what is on disk.
   */
  #handOver(
    key: string,
    value: Uint8Array | undefined,
    expected: Revision,
    { ttlSeconds, makesRoom = false }: PutOptions,
  ): LmdbWrite | undefined {
    if (this.#committer.broken) throw this.#committer.broken;
    const pending = this.#writes.pending.get(key);
    const tip = pending ? afterwards(pending.record) : this.#index.get(key);
    if ((tip?.modified ?? 0) !== expected) {
      if (pending) return undefined;
      throw new Conflict(key, expected, this.#present(key));
    }
    const revision = this.#next++;
    const ttlMs = msOf(ttlSeconds);
    const record: LogRecord = {
      type: value ? "put" : "delete",
      key,
      revision,
      created: tip?.created ?? revision,
      previous: tip?.modified ?? 0,
      expiry: ttlMs === undefined ? undefined : { at: this.#clock.now() + ttlMs, ttlMs },
      value: value ?? nothing,
    };
    const write = new LmdbWrite(record, this.#writes, !makesRoom);
    this.#committer.add(write);
    return write;
  }

  /** A write is on disk: from now on everyone sees it. */
  #land(record: LogRecord): void {
    const { key, revision, expiry } = record;
    const indexed = afterwards(record);
    if (indexed) this.#index.set(key, indexed);
    else this.#index.delete(key);
    this.#leases.set(key, revision, expiry && leftMs(expiry, this.#clock));
    this.#history.append(record);
    this.#upkeep.wrote(key, indexed);
    this.#landed.push(record);
  }

  /** The writes that have landed are told to everyone. */
  #told(): void {
    const landed = this.#landed;
    if (landed.length === 0) return;
    this.#landed = [];
    this.#retention.wrote(this.#history.newest());
    if (this.#hub.isAwaited)
      this.#hub.announce(landed.map((record) => ({ key: record.key, change: () => this.#history.change(record) })));
    this.#upkeep.look();
  }

  /** The time of a key is over. Whoever wrote it meanwhile has given it a new one. */
  async #expire(key: string, modified: Revision): Promise<void> {
    if (this.#closing || this.#index.get(key)?.modified !== modified) return;
    try {
      await this.#write(key, undefined, modified, deletion);
    } catch (error) {
      if (error instanceof Conflict || this.#closing) return;
      this.#log.warn("expired key could not be deleted; trying again", { key, error });
      this.#leases.set(key, modified, expiryRetryMs);
    }
  }
}

const entryOf = ({ key, value, created, revision }: LogRecord): Entry => ({ key, value, created, modified: revision });

const msOf = (seconds: number | undefined): number | undefined => (seconds === undefined ? undefined : seconds * 1000);

/** By the wall clock, which may have been set back while the store was closed: never longer than the key was meant to live. */
const leftMs = ({ at, ttlMs }: Expiry, clock: Clock) => Math.min(at - clock.now(), ttlMs);
