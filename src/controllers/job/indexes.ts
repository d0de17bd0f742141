// Sets of completion indexes, kept as intervals: a job of 100,000 indexes has few of them, and its status writes them as "1,3-5".
// Upstream: pkg/controller/job/indexed_job_utils.go.

/** Both ends belong to it. */
export interface Interval {
  readonly first: number;
  readonly last: number;
}
/** In order, with gaps between them. */
export type Indexes = readonly Interval[];

export const indexesOf = (numbers: Iterable<number>): Indexes =>
  joined(Array.from(numbers, (index) => ({ first: index, last: index })));

export const union = (...sets: readonly Indexes[]): Indexes => joined(sets.flat());

function joined(intervals: readonly Interval[]): Indexes {
  const result: { first: number; last: number }[] = [];
  for (const { first, last } of intervals.toSorted((a, b) => a.first - b.first)) {
    const previous = result.at(-1);
    if (!previous || first > previous.last + 1) result.push({ first, last });
    else previous.last = Math.max(previous.last, last);
  }
  return result;
}

export const countOf = (indexes: Indexes): number =>
  indexes.reduce((count, { first, last }) => count + last - first + 1, 0);

export function has(indexes: Indexes, index: number): boolean {
  let [low, high] = [0, indexes.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((indexes[middle]?.last ?? 0) < index) low = middle + 1;
    else high = middle;
  }
  const found = indexes[low];
  return found !== undefined && found.first <= index;
}

/** The first `count` indexes below `completions` that are not in the set. */
export function firstMissing(indexes: Indexes, count: number, completions: number): readonly number[] {
  const result: number[] = [];
  let candidate = 0;
  for (const { first, last } of [...indexes, { first: completions, last: completions }]) {
    for (; candidate < Math.min(first, completions) && result.length < count; candidate++) result.push(candidate);
    candidate = Math.max(candidate, last + 1);
  }
  return result;
}

/** How many indexes are in both sets. */
export function overlap(a: Indexes, b: Indexes): number {
  let count = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [one, other] = [a[i], b[j]] as [Interval, Interval]; // both are within their lists
    count += Math.max(0, Math.min(one.last, other.last) - Math.max(one.first, other.first) + 1);
    if (one.last <= other.last) i++;
    if (other.last <= one.last) j++;
  }
  return count;
}

export const formatIndexes = (indexes: Indexes): string =>
  indexes
    .map(({ first, last }) => (last === first ? `${first}` : `${first}${last === first + 1 ? "," : "-"}${last}`))
    .join(",");

/** Reads what a status or a policy says, as far as it can be read and is below `completions`: validation has refused the rest. */
export function parseIndexes(text: string, completions: number): Indexes {
  const intervals: Interval[] = [];
  for (const part of text.split(",")) {
    const [first, last = first] = part.split("-").map((end) => (/^\+?\d+$/.test(end) ? Number(end) : Number.NaN));
    if (first === undefined || last === undefined || Number.isNaN(first + last)) continue;
    if (first >= completions) break;
    intervals.push({ first, last: Math.min(last, completions - 1) });
  }
  return joined(intervals);
}
