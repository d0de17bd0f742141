// One leader at a time, by a Lease that the leader keeps renewing. Others watch how it changes on their own clock: a lease is free when
// it has not changed for as long as its holder promised to renew it, so clocks need not agree. A leader that cannot renew
// stops before that time is over.
import { Lease } from "#api/coordination/v1/lease.ts";
import type { Clock } from "#base/clock.ts";
import { explain, isConflict, isNotFound, isReason } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { microTimeOf } from "#schema/time.ts";
import type { Client, Transport } from "./client.ts";
import { type Metrics, noMetrics } from "./metrics.ts";

export interface ElectionOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Names the lease. */
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Names this candidate; no two may have the same. */
  readonly identity: string;
  readonly leaseMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryMs?: number;
  /** Called when this candidate begins and ceases to lead, with the lease and with words for an event. */
  readonly onChange?: (lease: Lease, what: "became leader" | "stopped leading") => void;
  /** Called when another leader is seen, for logs and status pages. */
  readonly onLeader?: (identity: string) => void;
}

/** Thrown when the lease could not be renewed in time. The former leader must stop: another may have begun to lead. */
export class LeadershipLost extends Error {
  override readonly name = "LeadershipLost";
}

const jitter = 1.2;

/** A part that runs only while it leads, and says whether it does. */
export interface ElectedComponent extends Component {
  readonly isLeader: boolean;
  /** Whether no other candidate can lead at this moment. A process that was paused for a while does not know yet that its lease ran out. */
  readonly mayWrite: boolean;
}

/** Refuses writes of a leader whose time is over. Timers alone do not: a process that was paused goes on where it stopped. */
export const fenced =
  (transport: Transport, mayWrite: () => boolean): Transport =>
  async (request) => {
    const isRead = request.verb === "get" || request.verb === "list" || request.verb === "watch";
    if (!isRead && !mayWrite())
      throw new LeadershipLost(`${request.verb} ${request.resource}: another may lead by now`);
    return transport(request);
  };

/** Runs `led` while this candidate is the leader. Fails with LeadershipLost rather than let it run a moment too long. */
export function elected(led: Component, options: ElectionOptions): ElectedComponent {
  const election = new Election(options);
  return {
    name: `${led.name} under lease ${options.lease.name}`,
    get isLeader() {
      return election.isLeader;
    },
    get mayWrite() {
      return election.mayWrite;
    },
    async run(signal) {
      await election.acquire(signal);
      const renew: Component = { name: "lease", run: (stop) => election.renew(stop) };
      try {
        await supervise([renew, led], signal);
      } finally {
        await election.release();
      }
    },
  };
}

export class Election {
  readonly #options: ElectionOptions;
  readonly #leaseMs: number;
  readonly #retryMs: number;
  readonly #renewDeadlineMs: number;
  /** The lease as last seen, and when it was first seen so, on a clock that does not jump. */
  #seen: Lease | undefined;
  #seenAt = 0;
  #leader = "";

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? 15_000;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#retryMs = options.retryMs ?? 2000;
    if (this.#leaseMs <= this.#renewDeadlineMs || this.#renewDeadlineMs <= jitter * this.#retryMs)
      throw new Error(
        `election of ${options.identity}: the lease (${this.#leaseMs} ms) must outlast the renew deadline (${this.#renewDeadlineMs} ms), and that ${jitter} retries (${this.#retryMs} ms)`,
      );
  }

  get isLeader(): boolean {
    return this.#holder === this.#options.identity;
  }

  /** Whether the lease is ours, and was renewed within the time after which we give up. */
  get mayWrite(): boolean {
    return this.isLeader && this.#options.clock.elapsed() - this.#seenAt < this.#renewDeadlineMs;
  }

  /** Resolves when the lease is ours; tries until the signal aborts. */
  async acquire(signal: AbortSignal): Promise<void> {
    const { clock, random, log, identity, metrics = noMetrics, lease } = this.#options;
    while (!(await this.#try(signal))) await clock.sleep(this.#retryMs * (1 + jitter * random.next()), signal);
    metrics.set("leader_election_master_status", { name: lease.name }, 1);
    log.info("became leader", { lease, identity });
    this.#tell("became leader");
  }

  /** Renews until the signal aborts. Throws LeadershipLost when that has failed for too long. */
  async renew(signal: AbortSignal): Promise<void> {
    const { clock, lease, identity, metrics = noMetrics } = this.#options;
    let renewed = this.#seenAt;
    try {
      for (;;) {
        await clock.sleep(this.#retryMs, signal);
        const left = renewed + this.#renewDeadlineMs - clock.elapsed();
        if (left > 0 && (await this.#tryFor(left, signal))) renewed = this.#seenAt;
        else if (clock.elapsed() - renewed >= this.#renewDeadlineMs || this.#isHeldByOther())
          throw new LeadershipLost(`${identity} could not renew the lease ${lease.namespace}/${lease.name}`);
      }
    } finally {
      metrics.set("leader_election_master_status", { name: lease.name }, 0);
      this.#tell("stopped leading");
    }
  }

  #tell(what: "became leader" | "stopped leading"): void {
    if (this.#seen) this.#options.onChange?.(this.#seen, what);
  }

  /** Gives the lease up, so that another need not wait for it to run out. It runs out by itself if that fails. */
  async release(): Promise<void> {
    const { client, clock, log, lease, identity } = this.#options;
    if (!this.isLeader || !this.#seen) return;
    const stop = new AbortController();
    const cancel = clock.after(this.#renewDeadlineMs, () => stop.abort(new Error("waited long enough")));
    const now = microTimeOf(clock.now());
    const { leaseTransitions } = this.#seen.spec;
    const spec = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now, leaseTransitions };
    try {
      this.#see(await client.bound({ signal: stop.signal }).update(Lease, { ...this.#seen, spec }));
      log.info("stopped leading", { lease, identity });
    } catch (error) {
      log.warn("lease could not be released", { lease, identity, error: explain(error) });
    } finally {
      cancel();
    }
  }

  async #tryFor(ms: number, signal: AbortSignal): Promise<boolean> {
    const late = new AbortController();
    const cancel = this.#options.clock.after(ms, () => late.abort(new Error("the lease is not renewed in time")));
    try {
      return await this.#try(AbortSignal.any([signal, late.signal]));
    } finally {
      cancel();
      signal.throwIfAborted();
    }
  }

  /** One attempt to take or keep the lease. Failures are no more than that. */
  async #try(signal: AbortSignal): Promise<boolean> {
    const { client, log, lease } = this.#options;
    const bound = client.bound({ signal });
    try {
      if (!this.isLeader || !this.#seen) {
        const present = await bound.find(Lease, lease);
        if (!present)
          return this.#took(await this.#timed(() => bound.create(Lease, { metadata: lease, spec: this.#claim() })));
        this.#see(present);
        if (this.#isHeldByOther()) return false;
      }
      const held = this.#seen;
      if (!held) return false;
      return this.#took(
        await this.#timed(() => bound.update(Lease, { ...held, spec: { ...held.spec, ...this.#claim(held) } })),
      );
    } catch (error) {
      if (signal.aborted && !this.isLeader) signal.throwIfAborted();
      const isRace = isConflict(error) || isReason(error, "AlreadyExists");
      log[isRace ? "debug" : "warn"]("lease not taken", { lease, error: explain(error) });
      await this.#lookAgain(bound);
      return false;
    }
  }

  /** After a failed update: someone else may have the lease, or the update was done and only its answer lost. */
  async #lookAgain(client: Client): Promise<void> {
    const { lease, log } = this.#options;
    if (!this.#seen || client.signal.aborted) return;
    try {
      const present = await client.find(Lease, lease);
      if (present) this.#see(present);
      else this.#seen = undefined;
    } catch (error) {
      if (!isNotFound(error)) log.debug("lease could not be read", { lease, error: explain(error) });
    }
  }

  #claim(held?: Lease): Lease["spec"] {
    const { identity, clock } = this.#options;
    const now = microTimeOf(clock.now());
    const isOurs = held?.spec.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#leaseMs / 1000),
      acquireTime: isOurs ? held.spec.acquireTime : now,
      renewTime: now,
      leaseTransitions: (held?.spec.leaseTransitions ?? 0) + (held && !isOurs ? 1 : 0),
    };
  }

  get #holder(): string {
    return this.#seen?.spec.holderIdentity ?? "";
  }

  #isHeldByOther(): boolean {
    const { clock, identity } = this.#options;
    const promisedMs = (this.#seen?.spec.leaseDurationSeconds ?? 0) * 1000;
    return this.#holder !== "" && this.#holder !== identity && clock.elapsed() - this.#seenAt < promisedMs;
  }

  /** Others may count from the moment they see our write, which is after we began it: so that is when our time starts. */
  async #timed(write: () => Promise<Lease>): Promise<readonly [Lease, number]> {
    const began = this.#options.clock.elapsed();
    return [await write(), began];
  }

  #took([lease, began]: readonly [Lease, number]): boolean {
    this.#see(lease);
    this.#seenAt = began;
    return true;
  }

  #see(lease: Lease): void {
    const { clock, onLeader } = this.#options;
    if (this.#seen?.metadata.resourceVersion === lease.metadata.resourceVersion) return;
    this.#seen = lease;
    this.#seenAt = clock.elapsed();
    if (this.#holder === this.#leader) return;
    this.#leader = this.#holder;
    onLeader?.(this.#leader);
  }
}
