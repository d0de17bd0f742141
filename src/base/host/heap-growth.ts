// How much garbage V8 lets pile up before it looks for it.
import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";

/** A large heap grows by about so much between collections. A smaller one is V8's: at 30 % there were twenty collections in place of three. */
const room = 128 * 2 ** 20;
const small = 100 * 2 ** 20;
const step = 5;

/** By how many percent of what a collection has left the heap may grow until the next; 0 leaves that to V8. */
export const growthOf = (leftBytes: number): number =>
  leftBytes < small ? 0 : Math.max(step, Math.round((room / leftBytes) * (100 / step)) * step);

/**
 * Keeps a large heap from growing by as much as it holds. While a server is busy, V8 lets it double or triple, so that it need not look
 * through it often; afterwards so little is left behind that it does not look for minutes, and all that time most of the heap is garbage.
 */
export function limitHeapGrowth(): void {
  let told = 0;
  new PerformanceObserver((list) => {
    if (!list.getEntries().some(isWhole)) return;
    const growth = growthOf(getHeapStatistics().used_heap_size);
    if (growth === told) return;
    told = growth;
    setFlagsFromString(`--heap-growing-percent=${growth}`);
  }).observe({ entryTypes: ["gc"] });
}

/** Whether everything was looked through. */
const isWhole = (entry: object): boolean =>
  "detail" in entry && (entry.detail as { readonly kind?: number }).kind === constants.NODE_PERFORMANCE_GC_MAJOR;
