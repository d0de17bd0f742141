export type Goal =
  | { readonly atMost: number; readonly atLeast?: undefined }
  | { readonly atLeast: number; readonly atMost?: undefined };

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly goal?: Goal;
}

export type Report = (figure: Figure) => void;

/** The middle one: a busy machine spoils some runs in either direction. */
export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;

/** Does `count` pieces of work, 32 at a time. */
export async function inLanes(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 32 }, lane));
}

/**
 * Microseconds of processor time one call takes: the middle of several rounds, each long enough to mean something. Time in which
 * the machine does other things does not count, and the contenders take turns, so that what remains falls on all of them.
 */
export function compare<N extends string>(
  contenders: Readonly<Record<N, () => unknown>>,
  { rounds = 9, roundMs = 60, warmMs = 2000 } = {},
): Record<N, number> {
  const names = Object.keys(contenders) as N[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<N, number[]>;
  const count = (work: () => unknown, forMs: number): number => {
    const end = performance.now() + forMs;
    const before = process.cpuUsage();
    let calls = 0;
    do {
      work();
      calls++;
    } while (performance.now() < end);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / calls;
  };
  for (const name of names) count(contenders[name], warmMs); // until the compiler has settled
  for (let round = 0; round < rounds; round++)
    for (const name of names) times[name].push(count(contenders[name], roundMs));
  return Object.fromEntries(
    names.map((name) => [name, times[name].toSorted((a, b) => a - b)[rounds >> 1] as number]),
  ) as Record<N, number>;
}
