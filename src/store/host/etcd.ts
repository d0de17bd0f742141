// A real etcd, version 3.4 or newer, as the store: one member or several, shared by any number of API servers.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { prefixEnd } from "#base/sorted-map.ts";
import {
  Compacted,
  Conflict,
  type Entry,
  FutureRevision,
  OutOfSpace,
  type Page,
  type PutOptions,
  type RangeOptions,
  type Revision,
  type StoreEngine,
  type StoreStatus,
  Unavailable,
  type WatchBatch,
} from "../engine.ts";
import { encodeKey } from "../key.ts";
import type { RetentionOptions } from "../retention.ts";
import { WatchHub } from "../watch-hub.ts";
import { alarmOf } from "./etcd/alarm.ts";
import { Compactor, compact, OldestRevision } from "./etcd/compaction.ts";
import { isCompacted, isFutureRevision, isLeaseNotFound, isNoSpace } from "./etcd/errors.ts";
import { toEntry } from "./etcd/follow.ts";
import { RecentHistory } from "./etcd/history.ts";
import { EtcdLeases } from "./etcd/leases.ts";
import { compareMod, rpcs, type TxnResponse } from "./etcd/messages.ts";
import { type EtcdRequest, type EtcdTls, Pool, type WithHeader } from "./etcd/pool.ts";
import { RpcError } from "./etcd/transport.ts";

export interface EtcdStoreOptions extends RetentionOptions {
  /** `http://host:port` or `https://host:port` of the members. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How long a request may take in all; defaults to ten seconds. */
  readonly requestMs?: number;
  /** A member silent for so long is left for another one; defaults to two seconds. */
  readonly silenceMs?: number;
  /** Told of each lease that no more writes are given: how many it has. */
  readonly onLeaseFull?: (writes: number) => void;
}

/** A list is read in parts of about this size, all from one revision: neither we nor etcd should choke on it. */
const partBytes = 2 << 20;
const firstPartEntries = 500;
const maxPartEntries = 10_000;
const firstKey = "\0";
/** As the end of a range: no end. */
const noEnd = "\0";

export class EtcdStore implements StoreEngine {
  readonly #pool: Pool;
  readonly #history: RecentHistory;
  readonly #hub: WatchHub;
  readonly #leases: EtcdLeases;
  readonly #compactor: Compactor;
  readonly #oldest: OldestRevision;
  readonly #writes = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(options: EtcdStoreOptions) {
    this.#pool = new Pool(options);
    this.#leases = new EtcdLeases(this.#pool, options.onLeaseFull);
    this.#compactor = new Compactor(this.#pool, options);
    this.#oldest = new OldestRevision(this.#pool);
    this.#history = new RecentHistory({
      pool: this.#pool,
      onChanges: (changes) => {
        this.#wrote(this.#history.newest());
        this.#hub.publish(changes);
      },
      onFailure: () => this.#hub.stir(),
    });
    this.#hub = new WatchHub(this.#history, options.clock);
  }

  async get(key: string, signal?: AbortSignal): Promise<Entry | undefined> {
    if (key === "") return undefined;
    const { kvs } = await this.#range({ key }, { what: `get ${key}`, signal });
    return kvs[0] && toEntry(kvs[0]);
  }

  async list(prefix: string, options: RangeOptions = {}, signal?: AbortSignal): Promise<Page> {
    const { after, limit = Number.POSITIVE_INFINITY } = options;
    const what = `list ${prefix}`;
    const rangeEnd = prefixEnd(prefix) ?? noEnd;
    let key = (after === undefined || after < prefix ? prefix : `${after}\0`) || firstKey;
    let revision = options.at;
    if (revision !== undefined && revision < 1) throw new Compacted(revision, await this.#oldest.find(signal));
    const entries: Entry[] = [];
    for (let part = firstPartEntries; ; ) {
      const wanted = Math.min(part, limit - entries.length);
      const range = { key, rangeEnd, revision: revision ?? 0, limit: wanted, countOnly: wanted === 0 };
      const { kvs, count, header } = await this.#range(range, { what, signal });
      revision ??= header.revision;
      let bytes = 1;
      for (const kv of kvs) {
        entries.push(toEntry(kv));
        bytes += kv.value.length;
      }
      const last = kvs.at(-1);
      const remaining = count - kvs.length;
      if (!last || remaining === 0 || entries.length >= limit) return { entries, revision, remaining };
      key = `${last.key}\0`;
      part = Math.max(1, Math.min(maxPartEntries, Math.floor((partBytes / bytes) * kvs.length)));
    }
  }

  put(key: string, value: Uint8Array, expected: Revision, { ttlSeconds }: PutOptions = {}): Promise<Entry> {
    return this.#write(`put ${key}`, async (what) => {
      encodeKey(key);
      const { header, succeeded, responses } = await this.#putIf(what, { key, value, expected, ttlSeconds });
      if (!succeeded) throw conflict(key, expected, responses);
      const modified = header.revision;
      const created = expected === 0 ? modified : responses[1]?.range?.kvs[0]?.createRevision;
      if (created === undefined) throw new Error(`${what}: etcd does not say when it was created`);
      return { key, value, created, modified };
    });
  }

  delete(key: string, expected: Revision): Promise<Revision> {
    return this.#write(`delete ${key}`, async (what) => {
      if (key === "") throw new Conflict(key, expected, undefined);
      const { header, succeeded, responses } = await this.#txn(what, {
        compare: [{ target: compareMod, key, modRevision: expected }],
        success: [{ deleteRange: { key } }],
        failure: [{ range: { key } }],
      });
      if (!succeeded || responses[0]?.deleteRange?.deleted !== 1) throw conflict(key, expected, responses);
      return header.revision;
    });
  }

  async *watch(prefix: string, from: Revision, signal: AbortSignal): AsyncGenerator<WatchBatch> {
    if (signal.aborted) return;
    let newest: Revision;
    try {
      newest = await this.#newestAfter(from, signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    this.#history.join(Math.min(from, newest));
    try {
      await this.#history.reach(newest, AbortSignal.any([signal, this.#pool.closing]));
      yield* this.#hub.watch(prefix, from, signal);
    } finally {
      this.#history.leave();
    }
  }

  /** How long the key has to live, if not for ever; as it was at a revision, what has run out since has no time left. */
  async ttlSeconds(key: string, at: Revision = 0): Promise<number | undefined> {
    const what = `time to live of ${key}`;
    const { kvs } = await this.#range({ key, revision: at }, { what });
    const id = kvs[0]?.lease ?? 0n;
    if (id === 0n) return undefined;
    const request = { what, isWrite: false, isLinearizable: false };
    const { ttl } = await this.#pool.call(rpcs.leaseTimeToLive, { id }, request);
    return Math.max(0, Number(BigInt.asIntN(64, ttl)));
  }

  async revision(signal?: AbortSignal): Promise<Revision> {
    const { header } = await this.#range({ key: firstKey, countOnly: true }, { what: "revision", signal });
    return header.revision;
  }

  /** Asks these members from now on: those of an etcd cluster come and go. */
  follow(endpoints: readonly string[]): void {
    this.#pool.follow(endpoints);
  }

  async compact(revision: Revision): Promise<void> {
    try {
      await compact(this.#pool, revision);
    } catch (error) {
      throw await this.#explain(error, `compact to revision ${revision}`, revision);
    }
  }

  async status(signal?: AbortSignal): Promise<StoreStatus> {
    const request = { what: "status", isWrite: false, isLinearizable: false, signal };
    const { dbSize, dbSizeInUse, errors } = await this.#pool.call(rpcs.status, {}, request);
    return {
      revision: await this.revision(signal),
      compacted: await this.#oldest.find(signal),
      sizeBytes: dbSize,
      usedBytes: dbSizeInUse,
      alarm: alarmOf(errors),
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#hub.end();
    this.#compactor.stop();
    await Promise.allSettled(this.#writes);
    this.#leases.stop();
    this.#pool.close();
  }

  /** The newest revision; throws Compacted if `from` is gone. */
  async #newestAfter(from: Revision, signal: AbortSignal): Promise<Revision> {
    if (from < 1) throw new Compacted(from, await this.#oldest.find(signal));
    try {
      const { header } = await this.#range(
        { key: firstKey, revision: from, countOnly: true },
        { what: `watch from revision ${from}`, signal },
      );
      return header.revision;
    } catch (error) {
      if (error instanceof FutureRevision) return error.newest;
      throw error;
    }
  }

  async #range(
    range: {
      readonly key: string;
      readonly rangeEnd?: string;
      readonly revision?: Revision;
      readonly limit?: number;
      readonly countOnly?: boolean;
    },
    { what, signal }: Pick<EtcdRequest, "what" | "signal">,
  ) {
    if (this.#closed) throw new Unavailable(`${what}: the store is closed`);
    try {
      return await this.#pool.call(rpcs.range, range, { what, signal, isWrite: false, isLinearizable: true });
    } catch (error) {
      throw await this.#explain(error, what, range.revision ?? 0);
    }
  }

  /** Runs a write that `close` waits for. */
  #write<T>(what: string, write: (what: string) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new Unavailable(`${what}: the store is closed`));
    const result = write(what);
    const done = () => this.#writes.delete(result);
    this.#writes.add(result);
    result.then(done, done);
    return result;
  }

  #wrote(newest: Revision): void {
    if (!this.#closed) this.#compactor.wrote(newest);
  }

  async #putIf(
    what: string,
    {
      key,
      value,
      expected,
      ttlSeconds,
    }: { key: string; value: Uint8Array; expected: Revision; ttlSeconds: number | undefined },
  ): Promise<WithHeader<TxnResponse>> {
    for (let tries = 1; ; tries++) {
      const lease = ttlSeconds === undefined ? 0n : await this.#leaseFor(what, ttlSeconds);
      try {
        return await this.#txn(what, {
          compare: [{ target: compareMod, key, modRevision: expected }],
          // When an entry was created, only etcd knows; it says so without sending the value back.
          success: [{ put: { key, value, lease } }, ...(expected === 0 ? [] : [{ range: { key, keysOnly: true } }])],
          failure: [{ range: { key } }],
        });
      } catch (error) {
        if (error instanceof OutOfSpace) await this.#confirmUnwritten(what, key, expected);
        // The write took longer than the lease lived, and was refused as a whole.
        if (tries === 3 || !(error instanceof Error && isLeaseNotFound(error.cause))) throw error;
        await this.#leases.drop(lease);
      }
    }
  }

  /** The very write that fills etcd up is carried out, and yet answered as refused. */
  async #confirmUnwritten(what: string, key: string, expected: Revision): Promise<void> {
    const present = await this.get(key);
    if ((present?.modified ?? 0) !== expected)
      throw new Unavailable(`${what}: etcd at ${this.#pool.endpoints} has no space left; the outcome is unknown`);
  }

  async #leaseFor(what: string, ttlSeconds: number): Promise<bigint> {
    try {
      return await this.#leases.acquire(ttlSeconds);
    } catch (error) {
      throw await this.#explain(error, what);
    }
  }

  async #txn(what: string, draft: Parameters<typeof rpcs.txn.request.encode>[0]): Promise<WithHeader<TxnResponse>> {
    try {
      const answer = await this.#pool.call(rpcs.txn, draft, { what, isWrite: true, isLinearizable: true });
      if (answer.succeeded) this.#wrote(answer.header.revision);
      return answer;
    } catch (error) {
      throw await this.#explain(error, what);
    }
  }

  /** etcd's refusals in the words of the interface. */
  async #explain(error: unknown, what: string, revision: Revision = 0): Promise<unknown> {
    if (isCompacted(error)) return new Compacted(revision, await this.#oldest.find());
    if (isFutureRevision(error)) return new FutureRevision(revision, await this.revision());
    if (isNoSpace(error)) return new OutOfSpace(`${what}: etcd at ${this.#pool.endpoints} has no space left`);
    if (error instanceof RpcError)
      return new Error(`${what}: etcd at ${this.#pool.endpoints} refuses`, { cause: error });
    return error;
  }
}

function conflict(key: string, expected: Revision, responses: TxnResponse["responses"]): Conflict {
  const present = responses[0]?.range?.kvs[0];
  return new Conflict(key, expected, present && toEntry(present));
}
