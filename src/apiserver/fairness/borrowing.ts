// Lends the seats of levels that do not use them to levels that could. Upstream: updateBorrowing in
// staging/src/k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go.
import { allocateSeats, type SeatClaim } from "./allocation.ts";
import type { PriorityLevel } from "./priority-level.ts";

export interface Borrowing {
  /** Seats of each level, until the next time. */
  readonly seats: ReadonlyMap<PriorityLevel, number>;
  readonly targets: ReadonlyMap<PriorityLevel, number>;
  /** The share of what it could use that each level gets. */
  readonly share: number;
}

/** A level keeps what it may not lend, and what it used of late up to its nominal limit. */
const leastNow = ({ isExempt, limits, stats }: PriorityLevel): number =>
  Math.max(limits.least, isExempt ? stats.most : Math.min(limits.nominal, stats.most));

export function borrow(levels: Iterable<PriorityLevel>): Borrowing {
  const all = [...levels];
  const total = all.reduce((sum, { limits }) => sum + limits.nominal, 0);
  const [exempt, limited] = [all.filter(({ isExempt }) => isExempt), all.filter(({ isExempt }) => !isExempt)];
  // Whatever exempt levels use is gone, since they are not limited.
  const left = total - exempt.reduce((sum, level) => sum + leastNow(level), 0);
  const claims = limited.map((level): SeatClaim & { readonly level: PriorityLevel } => ({
    level,
    lower: leastNow(level),
    upper: level.limits.most,
    target: Math.max(leastNow(level), level.stats.smoothed),
  }));
  const { seats, share } = divide(total, left, claims);
  return {
    seats: new Map([...exempt.map((level) => [level, leastNow(level)] as const), ...seats]),
    targets: new Map([
      ...exempt.map((level) => [level, leastNow(level)] as const),
      ...claims.map(({ level, target }) => [level, target] as const),
    ]),
    share,
  };
}

type Claim = SeatClaim & { readonly level: PriorityLevel };

function divide(total: number, left: number, claims: readonly Claim[]) {
  const leastSum = claims.reduce((sum, { level }) => sum + level.limits.least, 0);
  const lowerSum = claims.reduce((sum, { lower }) => sum + lower, 0);
  const give = (seatsOf: (claim: Claim, i: number) => number) =>
    claims.map((claim, i) => [claim.level, seatsOf(claim, i)] as const);
  if (left <= leastSum) return { seats: give(({ level }) => level.limits.least), share: 0 };
  if (left <= lowerSum) {
    const part = (left - leastSum) / (lowerSum - leastSum);
    return {
      seats: give(({ level: { limits }, lower }) => limits.least + Math.round((lower - limits.least) * part)),
      share: 0,
    };
  }
  const allocation = allocateSeats(total, claims);
  return {
    seats: give(({ level }, i) => Math.round(allocation?.seats[i] ?? level.queues.limit)),
    share: allocation?.share ?? 0,
  };
}
