// Times to live. etcd deletes keys by lease; a lease is costly, so writes that expire at about the same time share one.
import { isLeaseNotFound } from "./errors.ts";
import { rpcs } from "./messages.ts";
import type { Pool } from "./pool.ts";

/** Writes that expire within so long of each other share a lease. */
const sharedMs = 500;
/** A lease's keys are all deleted in one revision: not too many at once. As upstream's default. */
const maxWrites = 1_000;

interface Lease {
  readonly id: Promise<bigint>;
  writes: number;
  cancelTimer: () => void;
}

export class EtcdLeases {
  readonly #pool: Pool;
  readonly #onFull: (writes: number) => void;
  /** By when they end, in units of sharedMs of the clock's `elapsed`. */
  readonly #byEnd = new Map<number, Lease>();
  readonly #all = new Set<Lease>();

  constructor(pool: Pool, onFull: (writes: number) => void = () => undefined) {
    this.#pool = pool;
    this.#onFull = onFull;
  }

  /** A lease that ends when the time is over, or up to half a second later. */
  acquire(ttlSeconds: number): Promise<bigint> {
    const end = Math.ceil((this.#pool.clock.elapsed() + ttlSeconds * 1000) / sharedMs);
    let lease = this.#byEnd.get(end);
    if (!lease || lease.writes >= maxWrites) {
      if (lease) this.#onFull(lease.writes);
      lease = this.#grant(end);
      this.#byEnd.set(end, lease);
    }
    lease.writes++;
    return lease.id;
  }

  /** The lease is gone from etcd before its time: nobody must be given it again. */
  async drop(id: bigint): Promise<void> {
    for (const [end, lease] of this.#byEnd)
      if ((await lease.id.catch(() => undefined)) === id) this.#forget(end, lease);
  }

  /** Stops counting; etcd ends the leases by itself. */
  stop(): void {
    for (const lease of this.#all) lease.cancelTimer();
    this.#all.clear();
    this.#byEnd.clear();
  }

  #grant(end: number): Lease {
    const { clock } = this.#pool;
    const leftMs = end * sharedMs - clock.elapsed();
    const id = this.#pool
      .call(
        rpcs.leaseGrant,
        { ttl: Math.max(1, Math.ceil(leftMs / 1000)) },
        // One granted in vain holds no key and ends by itself, so a grant may be sent again.
        { what: "grant a lease", isWrite: false, isLinearizable: false },
      )
      .then((granted) => {
        if (granted.error !== "") throw new Error(`grant a lease: ${granted.error}`);
        return granted.id;
      });
    const lease: Lease = { id, writes: 0, cancelTimer: clock.after(leftMs, () => void this.#end(end, lease)) };
    this.#all.add(lease);
    id.catch(() => this.#forget(end, lease)); // whoever asked for the lease sees the error
    return lease;
  }

  /**
   * etcd would end the lease by itself, but late: it looks every half second, has a shortest time of two seconds,
   * and counts from the start again after each change of its leader.
   */
  async #end(end: number, lease: Lease): Promise<void> {
    this.#forget(end, lease);
    try {
      const request = { what: "revoke a lease", isWrite: false, isLinearizable: false };
      await this.#pool.call(rpcs.leaseRevoke, { id: await lease.id }, request);
    } catch (error) {
      if (!isLeaseNotFound(error)) this.#pool.log.warn("a lease is left to etcd to end", { error });
    }
  }

  #forget(end: number, lease: Lease): void {
    lease.cancelTimer();
    this.#all.delete(lease);
    if (this.#byEnd.get(end) !== lease) return;
    this.#byEnd.delete(end);
    this.#onFull(lease.writes);
  }
}
