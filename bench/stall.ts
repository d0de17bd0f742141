// How long the event loop stands still.
import { openSync, readSync } from "node:fs";

export interface Stall {
  /** The longest turn by the clock. */
  readonly clockMs: number;
  /**
   * The longest turn by the clock, less the time in which the thread could have run and the machine ran something else: what the
   * program answers for. Waiting for a lock, a disk or the garbage collector's threads counts.
   */
  readonly ownMs: number;
  /** Of a hundred turns, 99 were shorter by the same measure. */
  readonly usualOwnMs: number;
}

const mostTurns = 1_000_000;

/** Runs once in every turn of the event loop, and remembers the longest. */
export function probeLoop(): { stop(): Stall } {
  const queuedMs = queueClock();
  let [clockMs, ownMs] = [0, 0];
  const turns: number[] = [];
  let isStopped = false;
  let [time, queued] = [performance.now(), queuedMs()];
  const look = () => {
    const [now, queuedNow] = [performance.now(), queuedMs()];
    clockMs = Math.max(clockMs, now - time);
    const own = now - time - (queuedNow - queued);
    ownMs = Math.max(ownMs, own);
    if (turns.length < mostTurns) turns.push(own);
    [time, queued] = [now, queuedNow];
    if (!isStopped) setImmediate(look);
  };
  setImmediate(look);
  return {
    stop() {
      isStopped = true;
      return { clockMs, ownMs, usualOwnMs: turns.toSorted((a, b) => a - b)[Math.floor(turns.length * 0.99)] ?? 0 };
    },
  };
}

/** How long this thread has waited for a core, as Linux counts it. Elsewhere it is not known, and no wait is excused. */
function queueClock(): () => number {
  if (process.platform !== "linux") return () => 0;
  const file = openSync("/proc/thread-self/schedstat", "r");
  const text = Buffer.alloc(64);
  return () => Number(text.toString("latin1", 0, readSync(file, text, 0, 64, 0)).split(" ")[1]) / 1e6;
}
