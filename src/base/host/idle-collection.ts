// Gives memory back when a process has little to do.
import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How the heap is, and what came before. */
export interface HeapUse {
  /** How much of the last seconds the event loop was at work, of 1. */
  readonly utilization: number;
  /** What the heap takes from the machine. */
  readonly totalBytes: number;
  /** What it holds, garbage included. */
  readonly usedBytes: number;
  /** What the last collection left; 0 before the first. */
  readonly leftBytes: number;
}

/** To collect 200 MiB stops the process for a tenth of a second, which nobody should notice who asks now and then. */
const largest = 200 * 2 ** 20;
const worthwhile = 16 * 2 ** 20;

/** Whether a collection would disturb nobody and give back enough. */
export const isCollectionDue = ({ utilization, totalBytes, usedBytes, leftBytes }: HeapUse): boolean =>
  utilization < 0.05 && usedBytes < largest && totalBytes > leftBytes * 1.5 && totalBytes > leftBytes + worthwhile;

const checkMs = 5_000;
/** Some 8 seconds after a collection V8 begins to give memory back, if the process is quiet until then. */
const settleMs = 15_000;

/**
 * Collects garbage after a busy time, and once after the start. V8 gives memory back only some seconds after a collection of everything, and
 * where little is allocated there is none for hours: of an idle server's memory a seventh was free, after 10,000 pods a fifth.
 */
export function collectWhenIdle(): void {
  setFlagsFromString("--expose-gc");
  const collect: (options: { type: "major"; execution: "async" }) => Promise<void> = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  let leftBytes = 0;
  let before = performance.eventLoopUtilization();
  const check = async () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const { total_heap_size: totalBytes, used_heap_size: usedBytes } = getHeapStatistics();
    const isDue = isCollectionDue({ utilization, totalBytes, usedBytes, leftBytes });
    if (isDue) {
      await collect({ type: "major", execution: "async" });
      leftBytes = getHeapStatistics().used_heap_size;
      before = performance.eventLoopUtilization();
    }
    setTimeout(check, isDue ? settleMs : checkMs).unref();
  };
  setTimeout(check, checkMs).unref();
}
