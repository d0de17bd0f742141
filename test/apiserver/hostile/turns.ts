// How much of the processor's time this thread takes between two turns of the event loop. The clock on the wall would tell of the
// other processes of the machine, too.

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

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
