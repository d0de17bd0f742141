// Divides seats between priority levels: each gets the same share of what it could use, but not less and not more than its bounds.
// Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/conc_alloc.go.

export interface SeatClaim {
  /** What the level could use; not below `lower`. */
  readonly target: number;
  readonly lower: number;
  readonly upper: number;
}

export interface SeatAllocation {
  /** By claim, in their order. */
  readonly seats: readonly number[];
  /** The share of its target that a level gets whose bounds do not matter. */
  readonly share: number;
}

/** Keeps shares finite where nothing is wanted. */
const leastTarget = 0.001;
const tolerance = 1e-7;

/** Undefined if the bounds leave no way to divide `total`. */
export function allocateSeats(total: number, claims: readonly SeatClaim[]): SeatAllocation | undefined {
  const items = claims.map((claim) => ({ ...claim, target: Math.max(claim.target, leastTarget) }));
  const sumAt = (share: number) => items.reduce((sum, item) => sum + clamped(item, share), 0);
  const lowest = items.reduce((sum, { lower }) => sum + lower, 0);
  const highest = items.reduce((sum, { upper }) => sum + upper, 0);
  if (total < 0 || lowest - total > tolerance || total - highest > tolerance) return undefined;
  if (total === 0) return { seats: items.map(() => 0), share: 0 };
  // What is given out grows with the share, in straight lines between the shares at which a bound is reached.
  const bends = items.flatMap(({ target, lower, upper }) => [lower / target, upper / target]).sort((a, b) => a - b);
  let below = bends[0] ?? 0;
  for (const bend of bends) {
    if (sumAt(bend) >= total) return allocationAt(items, solved(sumAt, below, bend, total));
    below = bend;
  }
  return allocationAt(items, below);
}

/** The share between two bends at which the sum is `total`. */
function solved(sumAt: (share: number) => number, from: number, to: number, total: number): number {
  const [atFrom, atTo] = [sumAt(from), sumAt(to)];
  return atTo - atFrom < tolerance ? from : from + ((to - from) * (total - atFrom)) / (atTo - atFrom);
}

const clamped = ({ target, lower, upper }: SeatClaim, share: number): number =>
  Math.max(lower, Math.min(upper, share * target));

const allocationAt = (items: readonly SeatClaim[], share: number): SeatAllocation => ({
  seats: items.map((item) => clamped(item, share)),
  share,
});
