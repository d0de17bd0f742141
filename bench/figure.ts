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

/**
 * Microseconds one call takes: the middle of several rounds, each long enough to mean something. The contenders take
 * turns, so that a busy moment of the machine falls on all of them.
 */
export function compare<N extends string>(
  contenders: Readonly<Record<N, () => unknown>>,
  { rounds = 9, roundMs = 60 } = {},
): Record<N, number> {
  const names = Object.keys(contenders) as N[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<N, number[]>;
  const count = (work: () => unknown, forMs: number): number => {
    const start = performance.now();
    let calls = 0;
    let took = 0;
    for (; took < forMs; took = performance.now() - start) {
      work();
      calls++;
    }
    return (took / calls) * 1000;
  };
  for (const name of names) count(contenders[name], 250); // until the compiler has settled
  for (let round = 0; round < rounds; round++)
    for (const name of names) times[name].push(count(contenders[name], roundMs));
  return Object.fromEntries(
    names.map((name) => [name, times[name].toSorted((a, b) => a - b)[rounds >> 1] as number]),
  ) as Record<N, number>;
}
