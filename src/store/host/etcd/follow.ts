// One endless read of etcd's history: every change of every key, in order, each once, whatever happens to the connection.
//
// The whole key space is followed, not one prefix: each of etcd's revisions then shows up, so the last one seen says
// exactly how far we are. etcd's own answers to that question (manual progress notices) overtake events in the
// versions before 3.4.25 and 3.5.8 (etcd issue 15220); here they only prove that the member is alive.
import { backoffMs } from "#base/retry.ts";
import { type Change, Compacted, Damaged, type Entry, type Revision } from "../../engine.ts";
import { isForbidden } from "./errors.ts";
import { type Event, eventDelete, type KeyValue, rpcs, type WatchResponse } from "./messages.ts";
import type { EtcdMember, Pool } from "./pool.ts";
import { RpcError, type RpcStream, rpcCode } from "./transport.ts";

export interface Batch {
  readonly changes: readonly Change[];
  /** Everything up to and including this revision has been given. */
  readonly revision: Revision;
}

/** A stream that is silent for so long is asked for a sign of life. */
const idleMs = 10_000;
const backoff = { firstMs: 50, maxMs: 2_000, jitter: 0.5 };
const everything = "\0";

/**
 * Ends only by the signal (quietly), by Compacted or Damaged, or by a refusal that no other member would take back.
 * The reader may take its time: what it does not read waits at the server, on a connection of its own.
 */
export async function* follow(pool: Pool, from: Revision, signal: AbortSignal): AsyncGenerator<Batch> {
  let revision = from;
  for (let failures = 0; !signal.aborted; ) {
    const member = pool.pick();
    try {
      // After an interruption etcd may be another one, whose history has not come so far: it would wait in silence.
      if (failures > 0) await pool.confirm(revision, signal);
      for await (const batch of session(pool, member, revision, signal)) {
        if (failures > 0) pool.log.info("etcd watch resumed", { endpoint: member.endpoint, revision: batch.revision });
        failures = 0;
        if (batch.revision <= revision) continue; // what was seen on an earlier connection
        yield { changes: batch.changes.filter(({ entry }) => entry.modified > revision), revision: batch.revision };
        revision = batch.revision;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Compacted || error instanceof Damaged) throw error;
      if (isForbidden(error))
        throw new Error("watch etcd: the user must be allowed to read all keys", { cause: error });
      pool.suspect(member);
      if (failures === 0) pool.log.warn("etcd watch interrupted", { endpoint: member.endpoint, revision, error });
      const waitMs = backoffMs(backoff, failures++, pool.random);
      await pool.clock.sleep(waitMs, signal).catch(() => undefined); // aborted: the loop ends by itself
    }
  }
}

/** One connection's worth of it. Starts with `revision` once more: only so does etcd notice that it was compacted. */
async function* session(
  pool: Pool,
  member: EtcdMember,
  revision: Revision,
  signal: AbortSignal,
): AsyncGenerator<Batch> {
  const connection = pool.connectionTo(member);
  try {
    await connection.connect({ timeoutMs: pool.silenceMs, signal });
    const stream = connection.stream(rpcs.watch);
    const aborted = () => stream.fail(new Error("the watch has ended"));
    signal.addEventListener("abort", aborted, { once: true });
    const pulse = new Pulse(pool, member, stream);
    try {
      stream.send({
        create: {
          key: everything,
          rangeEnd: everything,
          startRevision: revision,
          progressNotify: true,
          prevKv: true,
          fragment: true,
        },
      });
      yield* batches(stream, pulse, revision);
    } finally {
      pulse.end();
      signal.removeEventListener("abort", aborted);
    }
  } finally {
    connection.close();
  }
}

async function* batches(stream: AsyncIterable<WatchResponse>, pulse: Pulse, revision: Revision): AsyncGenerator<Batch> {
  let watchId: bigint | undefined;
  let fragments: Event[] = [];
  pulse.start();
  for await (const response of stream) {
    pulse.stop();
    if (response.canceled) {
      if (response.compactRevision > 0) throw new Compacted(revision, response.compactRevision);
      throw new RpcError(rpcCode.unavailable, response.cancelReason || "etcd has ended the watch");
    }
    if (response.created) watchId = response.watchId;
    fragments.push(...response.events);
    if (!response.fragment) {
      const batch = toBatch(response, fragments, watchId);
      fragments = [];
      if (batch) yield batch;
    }
    pulse.start();
  }
}

/** The events of a response, or what etcd says of its own accord about how far this watcher is. */
function toBatch(response: WatchResponse, events: readonly Event[], watchId: bigint | undefined): Batch | undefined {
  const last = events.at(-1)?.kv;
  // The header's revision may be ahead of the events: etcd sends what a late watcher has missed in parts.
  if (last) return { changes: events.map(toChange), revision: last.modRevision };
  if (response.created || response.watchId !== watchId || !response.header) return undefined;
  return { changes: [], revision: response.header.revision };
}

function toChange({ type, kv, prevKv }: Event): Change {
  if (!kv) throw new Error("etcd sent an event without a key");
  const previous = prevKv && toEntry(prevKv);
  const entry = toEntry(kv);
  if (type !== eventDelete) return { type: "put", entry, ...(previous && { previous }) };
  return { type: "delete", entry: { ...entry, created: previous?.created ?? 0 }, ...(previous && { previous }) };
}

export const toEntry = ({ key, value, createRevision, modRevision }: KeyValue): Entry => ({
  key,
  value,
  created: createRevision,
  modified: modRevision,
});

/**
 * Watches over a stream while its reader waits: after a silence, or when others suspect the member, it asks
 * for a sign of life, and ends the stream when none comes.
 */
class Pulse {
  readonly #pool: Pool;
  readonly #stream: RpcStream<{ readonly progress?: object }, unknown>;
  readonly #forget: () => void;
  #cancel: (() => void) | undefined;
  #isAsking = false;

  constructor(pool: Pool, member: EtcdMember, stream: RpcStream<{ readonly progress?: object }, unknown>) {
    this.#pool = pool;
    this.#stream = stream;
    this.#forget = pool.onSuspicion((suspect) => {
      if (suspect === member && this.#cancel && !this.#isAsking) this.#ask();
    });
  }

  start(): void {
    this.#isAsking = false;
    this.#cancel?.();
    this.#cancel = this.#pool.clock.after(idleMs, () => this.#ask());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  end(): void {
    this.stop();
    this.#forget();
  }

  #ask(): void {
    this.stop();
    this.#isAsking = true;
    this.#stream.send({ progress: {} });
    const { silenceMs } = this.#pool;
    this.#cancel = this.#pool.clock.after(silenceMs, () =>
      this.#stream.fail(new RpcError(rpcCode.unavailable, `no sign of life within ${silenceMs} ms`)),
    );
  }
}
