// How much of the processor's time this thread takes between two turns of the event loop. The clock on the wall would tell of the
// other processes of the machine, too.

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The reference work takes so long on a quiet machine of two cores. */
const quietReferenceMs = 16;
const referenceText = JSON.stringify(
  Array.from({ length: 20_000 }, (_, i) => ({ name: `n${i}`, value: `"${i}"`, more: [i, i + 0.5, null, true] })),
);

/**
 * By how much the processor is slower just now than a quiet one, at least 1. Other processes share its caches and its execution units,
 * so that the same work takes up to twice the processor's time on a busy machine.
 */
export function slowness(): number {
  const runs = Array.from({ length: 7 }, () => {
    const before = cpuMs();
    JSON.stringify(JSON.parse(referenceText));
    return cpuMs() - before;
  }).toSorted((a, b) => a - b);
  return Math.max(1, (runs[3] as number) / quietReferenceMs);
}

/** The longest turn while this runs, in milliseconds. */
export async function longestTurn(run: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  await nextTurn();
  let before = cpuMs();
  const look = () => {
    const now = cpuMs();
    longest = Math.max(longest, now - before);
    before = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await run();
  await nextTurn();
  isOver = true;
  await nextTurn();
  return longest;
}

/**
 * The shortest of the longest turns of some runs, of which there are no more than it takes to come below the limit: that the garbage
 * was collected or code was compiled just then is no property of the request.
 */
export async function leastLongestTurn(run: () => Promise<unknown>, limitMs: number, runs: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs && least > limitMs; i++) least = Math.min(least, await longestTurn(run));
  return least;
}
