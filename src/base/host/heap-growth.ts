// How much garbage V8 lets pile up before it looks for it.
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";

/** A large heap grows by about so much between collections. A smaller one is V8's: at 30 % there were twenty collections in place of three. */
const room = 128 * 2 ** 20;
const step = 10;

/** By how many percent of what is left after a collection the heap may grow until the next; 0 leaves that to V8. */
export const growthOf = (usedBytes: number): number =>
  usedBytes < room ? 0 : Math.max(step, Math.round((room / usedBytes) * (100 / step)) * step);

/**
 * Keeps a large heap from growing by as much as it holds. While a server is busy, V8 lets it double or triple, so that it need not look
 * through it often; afterwards so little is left behind that it does not look for minutes, and all that time most of the heap is garbage.
 * Asked for at each collection, young ones too, so that the next that looks at everything knows how large the heap is then.
 */
export function limitHeapGrowth(): void {
  let told = 0;
  const tell = () => {
    const growth = growthOf(getHeapStatistics().used_heap_size);
    if (growth === told) return;
    told = growth;
    setFlagsFromString(`--heap-growing-percent=${growth}`);
  };
  new PerformanceObserver(tell).observe({ entryTypes: ["gc"] });
}
