// How far back etcd's history goes, and forgetting it in time.
import type { Clock } from "#base/clock.ts";
import { Compacted, type Revision, Unavailable } from "../../engine.ts";
import { Retention, type RetentionOptions } from "../../retention.ts";
import { isCompacted, isNoSpace } from "./errors.ts";
import { follow } from "./follow.ts";
import { compareVersion, rpcs } from "./messages.ts";
import type { Pool } from "./pool.ts";

/** Forgets history before the revision, if that has not happened yet. */
export async function compact(pool: Pool, revision: Revision): Promise<void> {
  const request = { what: `compact to revision ${revision}`, isWrite: false, isLinearizable: false };
  try {
    await pool.call(rpcs.compact, { revision }, request);
  } catch (error) {
    if (!isCompacted(error)) throw error;
  }
}

/** Finds the oldest revision that etcd still knows. There is no request for it: only a watch that is too late is told. */
export class OldestRevision {
  readonly #pool: Pool;
  #known: Revision = 1;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async find(signal?: AbortSignal): Promise<Revision> {
    const request = { what: "find the oldest revision", isWrite: false, isLinearizable: true, signal };
    try {
      await this.#pool.call(rpcs.range, { key: "\0", revision: this.#known, countOnly: true }, request);
      return this.#known;
    } catch (error) {
      if (!isCompacted(error)) throw error;
    }
    this.#known = Math.max(this.#known, await this.#askWatch(signal));
    return this.#known;
  }

  /** A watch from revision 1, which is compacted, is told nothing but the oldest revision. */
  async #askWatch(signal: AbortSignal | undefined): Promise<Revision> {
    const { closing, clock, requestMs, endpoints } = this.#pool;
    const timeout = new AbortController();
    const cancelTimer = clock.after(requestMs, () => timeout.abort());
    try {
      const end = AbortSignal.any([closing, timeout.signal, ...(signal ? [signal] : [])]);
      for await (const _ of follow(this.#pool, 1, end)) break;
    } catch (error) {
      if (error instanceof Compacted) return error.oldest;
      throw error;
    } finally {
      cancelTimer();
    }
    signal?.throwIfAborted();
    throw new Unavailable(`find the oldest revision: etcd at ${endpoints} does not tell it`);
  }
}

/** Where the API servers of one etcd agree on who compacts; name, value and use are upstream's, so both may share an etcd. */
const turnKey = "compact_rev_key";

/** A compaction is announced by a write, which is no reason for the next one: an idle store must come to rest. */
const leastStep = 2;

/** Compacts as history grows. Of several API servers one does it each time: whoever counts the key's version up. */
export class Compactor {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #retention: Retention;
  readonly #everyMs: number;
  #triedAt = Number.NEGATIVE_INFINITY;
  #version = 0;
  #compacted: Revision = 0;

  constructor(pool: Pool, options: RetentionOptions) {
    this.#pool = pool;
    this.#clock = pool.clock;
    this.#retention = new Retention(pool.clock, options, (revision) => void this.#forget(revision));
    this.#everyMs = options.keepMs ?? 300_000;
  }

  /** To be told of every new revision. */
  wrote(newest: Revision): void {
    this.#retention.wrote(newest);
  }

  stop(): void {
    this.#retention.stop();
  }

  async #forget(revision: Revision): Promise<void> {
    const now = this.#clock.elapsed();
    if (now < this.#triedAt + this.#everyMs || revision < this.#compacted + leastStep) return;
    this.#triedAt = now;
    try {
      if (!(await this.#isMyTurn(revision))) return;
      await compact(this.#pool, revision);
      this.#compacted = revision;
      this.#pool.log.info("etcd compacted", { revision });
    } catch (error) {
      if (!this.#pool.closing.aborted) this.#pool.log.warn("etcd could not be compacted", { revision, error });
    }
  }

  async #isMyTurn(revision: Revision): Promise<boolean> {
    try {
      const { succeeded, responses } = await this.#pool.call(
        rpcs.txn,
        {
          compare: [{ target: compareVersion, key: turnKey, version: this.#version }],
          success: [{ put: { key: turnKey, value: Buffer.from(`${revision}`) } }],
          failure: [{ range: { key: turnKey } }],
        },
        { what: `put ${turnKey}`, isWrite: true, isLinearizable: true },
      );
      if (succeeded) {
        this.#version++;
        return true;
      }
      const found = responses[0]?.range?.kvs[0];
      this.#version = found?.version ?? 0;
      this.#compacted = Math.max(this.#compacted, Number(found && new TextDecoder().decode(found.value)) || 0);
      return false;
    } catch (error) {
      if (isNoSpace(error)) return true; // a full etcd takes no key, but needs compaction the more
      throw error;
    }
  }
}
