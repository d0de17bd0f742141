// The members of one etcd cluster: which of them to ask, and what to do when it does not answer.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { backoffMs } from "#base/retry.ts";
import { Damaged, type Revision, Unavailable } from "../../engine.ts";
import { isCorrupt, isTimeout, outcomeOf } from "./errors.ts";
import { type EtcdRpc, type ResponseHeader, rpcs } from "./messages.ts";
import { type EtcdCallLimits, EtcdConnection, type EtcdTlsOptions } from "./transport.ts";

export interface PoolOptions {
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How long a request may take in all; defaults to ten seconds. */
  readonly requestMs?: number | undefined;
  /** A member that is silent for so long is asked last, and a read is sent to another one; defaults to two seconds. */
  readonly silenceMs?: number | undefined;
}

/** What is shown and believed; a function is asked again every few seconds, since certificates end and are replaced. */
export type EtcdTls = EtcdTlsOptions | (() => EtcdTlsOptions);

export interface EtcdRequest {
  /** For errors: `put /registry/pods/default/web`. */
  readonly what: string;
  readonly isWrite: boolean;
  readonly signal?: AbortSignal | undefined;
  /** The answer's revision is that of the whole cluster, not only of the member that answers. */
  readonly isLinearizable: boolean;
}

export interface EtcdMember {
  readonly endpoint: string;
  /** Another one when certificates were replaced. */
  connection: EtcdConnection;
  /** Asked last until then, by the clock's `elapsed`. */
  suspectUntil: number;
  /** It has been seen to be one of the cluster. */
  isKnown: boolean;
}

interface Patience {
  /** By the clock's `elapsed`. */
  readonly deadline: number;
  /** How long this one member may be silent. */
  readonly patienceMs: number;
}

interface Answer {
  readonly header: ResponseHeader | undefined;
}

/** An answer whose header is there, and fits. */
export type WithHeader<T> = T & { readonly header: ResponseHeader };

const suspicionMs = 5_000;
const renewalMs = 5_000;
const backoff = { firstMs: 50, maxMs: 500, jitter: 0.5 };

export class Pool {
  readonly silenceMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly #options: PoolOptions;
  #members: readonly EtcdMember[];
  readonly requestMs: number;
  readonly #closing = new AbortController();
  readonly #suspicion = new Set<(member: EtcdMember) => void>();
  #preferred: number;
  #clusterId = 0n;
  #newest: Revision = 0;
  #tls: EtcdTlsOptions | undefined;
  #tlsReadAt: number;

  constructor(options: PoolOptions) {
    const { endpoints, clock, random, log } = options;
    if (endpoints.length === 0) throw new Error("etcd: no endpoint is given");
    this.#options = options;
    this.clock = clock;
    this.random = random;
    this.log = log;
    this.requestMs = options.requestMs ?? 10_000;
    this.silenceMs = options.silenceMs ?? 2_000;
    const tls = typeof options.tls === "function" ? options.tls() : options.tls;
    this.#tls = tls;
    this.#tlsReadAt = clock.elapsed();
    this.#members = endpoints.map((endpoint) => memberAt(endpoint, tls, clock));
    // Several API servers spread over the members.
    this.#preferred = random.below(endpoints.length);
  }

  /** Aborts when the pool is being closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  get endpoints(): string {
    return this.#members.map(({ endpoint }) => endpoint).join(", ");
  }

  /** Asks these members from now on. Streams to a member that is no longer among them are moved to another one. */
  follow(endpoints: readonly string[]): void {
    const before = this.#members;
    if (endpoints.length === 0 || endpoints.join() === before.map(({ endpoint }) => endpoint).join()) return;
    const preferred = before[this.#preferred];
    this.#members = endpoints.map(
      (endpoint) => before.find((member) => member.endpoint === endpoint) ?? memberAt(endpoint, this.#tls, this.clock),
    );
    this.#preferred = Math.max(0, preferred ? this.#members.indexOf(preferred) : 0);
    for (const member of before) {
      if (this.#members.includes(member)) continue;
      for (const listener of this.#suspicion) listener(member);
      member.connection.close();
    }
  }

  /** The member to ask next: the one that served last, unless it is under suspicion. */
  pick(): EtcdMember {
    return this.#inOrder()[0] as EtcdMember;
  }

  /** A connection of its own to the same member, for a stream whose reader may be slow. */
  connectionTo(member: EtcdMember): EtcdConnection {
    this.#renewTls();
    return new EtcdConnection(member.endpoint, this.#tls, this.clock);
  }

  /** Connections that are there go on with what they began with; what is sent from now on goes over new ones. */
  #renewTls(): void {
    const { tls } = this.#options;
    if (typeof tls !== "function" || this.clock.elapsed() - this.#tlsReadAt < renewalMs) return;
    this.#tlsReadAt = this.clock.elapsed();
    try {
      const now = tls();
      const before = this.#tls;
      if (now.ca === before?.ca && now.cert === before?.cert && now.key === before?.key) return;
      // All are made before one is used: a certificate whose key is not written yet changes nothing.
      const made = this.#members.map(({ endpoint }) => new EtcdConnection(endpoint, now, this.clock));
      this.#tls = now;
      for (const [i, member] of this.#members.entries()) {
        const old = member.connection;
        member.connection = made[i] ?? old;
        this.#closeLater(old);
      }
      this.log.info("the certificate for etcd was replaced", { endpoints: this.endpoints });
    } catch (error) {
      this.log.warn("the certificate for etcd cannot be read; the one of before is used", { error: explain(error) });
    }
  }

  /** When all that was sent over it has been answered, or given up. */
  #closeLater(connection: EtcdConnection): void {
    const close = () => {
      cancel();
      this.closing.removeEventListener("abort", close);
      connection.close();
    };
    const cancel = this.clock.after(2 * this.requestMs, close);
    this.closing.addEventListener("abort", close, { once: true });
  }

  suspect(member: EtcdMember): void {
    member.suspectUntil = this.clock.elapsed() + suspicionMs;
    const next = this.#inOrder()[0] as EtcdMember;
    this.#preferred = this.#members.indexOf(next);
    for (const listener of this.#suspicion) listener(member);
  }

  /** Calls `listener` whenever a member comes under suspicion, until the returned function is called. */
  onSuspicion(listener: (member: EtcdMember) => void): () => void {
    this.#suspicion.add(listener);
    return () => this.#suspicion.delete(listener);
  }

  /** Throws Damaged if the cluster has not come as far as it once had. */
  async confirm(revision: Revision, signal: AbortSignal): Promise<void> {
    this.#newest = Math.max(this.#newest, revision);
    const request = { what: "resume a watch", isWrite: false, isLinearizable: true, signal };
    await this.call(rpcs.range, { key: "\0", countOnly: true }, request);
  }

  /** Ends all requests and streams. */
  close(): void {
    this.#closing.abort(new Unavailable("the store is closed"));
    for (const { connection } of this.#members) connection.close();
  }

  /** Sends a request to one member after another, within one deadline, until one answers. */
  async call<D, T extends Answer>(rpc: EtcdRpc<D, T>, draft: D, request: EtcdRequest): Promise<WithHeader<T>> {
    const { what, isWrite, signal } = request;
    signal?.throwIfAborted();
    this.#renewTls();
    const deadline = this.clock.elapsed() + this.requestMs;
    const failures = new Map<string, string>();
    for (let round = 0; ; round++) {
      for (const member of this.#inOrder()) {
        const left = deadline - this.clock.elapsed();
        if (this.closing.aborted) throw this.#closed(what);
        if (left <= 0) throw this.#unavailable(what, failures);
        // More patience in each round: when all are slow, leaving each of them too soon would get no answer at all.
        const patienceMs = this.#members.length === 1 ? left : Math.min(left, this.silenceMs * 2 ** round);
        let isSent = false;
        try {
          await this.#prepare(member, { timeoutMs: patienceMs, signal });
          isSent = true;
          return await this.#send(member, rpc, draft, { ...request, deadline, patienceMs });
        } catch (error) {
          if (signal?.aborted) throw signal.reason;
          if (this.closing.aborted) throw this.#closed(what);
          if (isCorrupt(error)) throw new Damaged(`${what}: etcd at ${member.endpoint} is corrupt`, { cause: error });
          const outcome = outcomeOf(error);
          if (outcome === "answered") throw error;
          this.suspect(member);
          // That time ran out in the end says less than what was wrong before.
          if (!isTimeout(error) || !failures.has(member.endpoint)) failures.set(member.endpoint, explain(error));
          if (outcome === "unknown" && isSent && isWrite)
            throw this.#unavailable(what, failures, "; its outcome is unknown");
        }
      }
      const left = deadline - this.clock.elapsed();
      const waitMs = Math.max(0, Math.min(left, backoffMs(backoff, round, this.random)));
      await this.clock.sleep(waitMs, signal ?? this.closing);
    }
  }

  /** Connects; and before the first request makes sure that it is a member of the same cluster, which alone may do as it is told. */
  async #prepare(member: EtcdMember, limits: EtcdCallLimits): Promise<void> {
    if (!member.connection.isReady) await member.connection.connect(limits);
    if (member.isKnown) return;
    const status = await member.connection.call(rpcs.status, {}, limits);
    if (isTooOld(status.version))
      throw new Error(`etcd at ${member.endpoint} has version ${status.version}; 3.4 or newer is needed`);
    this.#check(member, status, 0);
  }

  async #send<D, T extends Answer>(
    member: EtcdMember,
    rpc: EtcdRpc<D, T>,
    draft: D,
    { isWrite, isLinearizable, signal, deadline, patienceMs }: EtcdRequest & Patience,
  ): Promise<WithHeader<T>> {
    const floor = this.#newest;
    const left = Math.max(1, deadline - this.clock.elapsed());
    // A write must wait for its answer, but nobody else should follow it to a member that is silent.
    const cancelSuspicion = isWrite ? this.clock.after(patienceMs, () => this.suspect(member)) : undefined;
    try {
      const timeoutMs = isWrite ? left : Math.min(left, patienceMs);
      const answer = await member.connection.call(rpc, draft, { timeoutMs, signal });
      return this.#check(member, answer, isLinearizable ? floor : 0);
    } finally {
      cancelSuspicion?.();
    }
  }

  /** Members under suspicion last, the one that has been so for longest first among them. */
  #inOrder(): readonly EtcdMember[] {
    const now = this.clock.elapsed();
    const rotated = [...this.#members.slice(this.#preferred), ...this.#members.slice(0, this.#preferred)];
    const isSuspect = ({ suspectUntil }: EtcdMember) => suspectUntil > now;
    return [
      ...rotated.filter((member) => !isSuspect(member)),
      ...rotated.filter(isSuspect).toSorted((a, b) => a.suspectUntil - b.suspectUntil),
    ];
  }

  /** Catches what no retry can mend: endpoints of two clusters, and a history that has gone back. */
  #check<T extends Answer>(member: EtcdMember, answer: T, floor: Revision): WithHeader<T> {
    const { header } = answer;
    if (!header) throw new Error(`etcd at ${member.endpoint} answered without a header`);
    if (this.#clusterId === 0n) this.#clusterId = header.clusterId;
    if (header.clusterId !== this.#clusterId)
      throw new Damaged(
        `etcd at ${member.endpoint} belongs to cluster ${header.clusterId.toString(16)}, others of ${this.endpoints} to ${this.#clusterId.toString(16)}`,
      );
    if (header.revision < floor)
      throw new Damaged(
        `etcd at ${member.endpoint} is at revision ${header.revision}, but was at ${floor}: was it restored from a backup?`,
      );
    member.suspectUntil = 0;
    member.isKnown = true;
    if (header.revision > this.#newest) this.#newest = header.revision;
    return answer as WithHeader<T>;
  }

  #closed(what: string): Unavailable {
    return new Unavailable(`${what}: the store is closed`);
  }

  #unavailable(what: string, failures: ReadonlyMap<string, string>, suffix = ""): Unavailable {
    const tried = [...failures].map(([endpoint, reason]) => `${endpoint}: ${reason}`).join("; ");
    return new Unavailable(`${what}: etcd at ${this.endpoints} is not available${suffix} (${tried || "no time left"})`);
  }
}

const memberAt = (endpoint: string, tls: EtcdTlsOptions | undefined, clock: Clock): EtcdMember => ({
  endpoint,
  connection: new EtcdConnection(endpoint, tls, clock),
  suspectUntil: 0,
  isKnown: false,
});

/** Before 3.4 a watch could not be asked for a sign of life. */
function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 0 && (major < 3 || (major === 3 && minor < 4));
}
