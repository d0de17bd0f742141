// What tests of stores share.
import { type Change, type Revision, type StoreEngine, Unavailable } from "./engine.ts";

export interface Follower {
  readonly from: Revision;
  readonly changes: readonly Change[];
  /** How far the watcher has seen, and in how many batches. */
  readonly revision: Revision;
  readonly batches: number;
  /** Resolves when the watch has ended quietly; rejects with its error. */
  readonly ended: Promise<void>;
  /** Resolves once the condition holds after some batch; rejects if the watch ends before. */
  until(condition: () => boolean): Promise<void>;
  caughtUpTo(revision: Revision): Promise<void>;
  stop(): Promise<void>;
}

/** Watches in the background and remembers what it saw, checking that batches are in order. */
export function follow(engine: StoreEngine, prefix: string, from: Revision, outer?: AbortSignal): Follower {
  const stop = new AbortController();
  const signal = outer ? AbortSignal.any([outer, stop.signal]) : stop.signal;
  const changes: Change[] = [];
  const waiters = new Set<() => void>();
  const seen = { revision: from, batches: 0, ended: false };

  const run = async () => {
    try {
      for await (const batch of engine.watch(prefix, from, signal)) {
        const last = batch.changes.at(-1)?.entry.modified ?? 0;
        if (batch.revision < seen.revision) throw new Error(`batch at ${batch.revision} after ${seen.revision}`);
        if (last > batch.revision) throw new Error(`change ${last} in a batch at ${batch.revision}`);
        const before = changes.at(-1)?.entry.modified ?? from;
        for (const change of batch.changes) {
          // Several changes may have one revision, as when a lease ends: then all of them are in one batch.
          const { modified } = change.entry;
          if (modified <= before || modified < (changes.at(-1)?.entry.modified ?? 0))
            throw new Error(`change ${modified} comes late or twice`);
          changes.push(change);
        }
        seen.revision = batch.revision;
        seen.batches++;
        for (const wake of waiters) wake();
      }
    } finally {
      seen.ended = true;
      for (const wake of waiters) wake();
    }
  };
  const ended = run();
  ended.catch(() => undefined); // whoever waits for `ended` or `until` sees it

  const until = async (condition: () => boolean) => {
    while (!condition()) {
      if (seen.ended) {
        await ended;
        throw new Unavailable("the watch ended");
      }
      await new Promise<void>((resolve) => {
        const wake = () => {
          waiters.delete(wake);
          resolve();
        };
        waiters.add(wake);
      });
    }
  };
  return {
    from,
    changes,
    get revision() {
      return seen.revision;
    },
    get batches() {
      return seen.batches;
    },
    ended,
    until,
    caughtUpTo: (revision) => until(() => seen.batches > 0 && seen.revision >= revision),
    async stop() {
      stop.abort();
      await ended;
    },
  };
}
