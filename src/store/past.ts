// Reading the past: what is present, with the changes since taken back.
import type { SortedMap } from "#base/sorted-map.ts";

/** What each key that has changed since some revision held at it; undefined if it was absent. */
export type Undo<T> = ReadonlyMap<string, T | undefined>;

export interface RevisionRange {
  /** First key that may be in the range, and first one that may not; undefined for no end. */
  readonly start: string;
  readonly end: string | undefined;
}

const isInside = ({ start, end }: RevisionRange, key: string) => key >= start && (end === undefined || key < end);

/** The first `limit` items of a range in key order, as of the past. */
export function itemsOfPast<T>(
  present: SortedMap<T>,
  undo: Undo<T>,
  range: RevisionRange,
  limit: number,
): [string, T][] {
  const items: [string, T][] = [];
  const restored = [...undo].filter((pair): pair is [string, T] => pair[1] !== undefined && isInside(range, pair[0]));
  restored.sort(([a], [b]) => (a < b ? -1 : 1));

  let next = 0;
  const takeRestored = (before?: string) => {
    for (; next < restored.length && items.length < limit; next++) {
      const pair = restored[next] as [string, T];
      if (before !== undefined && pair[0] > before) return;
      items.push(pair);
    }
  };
  for (const [key, value] of present.range(range.start, range.end)) {
    takeRestored(key);
    if (items.length >= limit) break;
    if (!undo.has(key)) items.push([key, value]);
  }
  takeRestored();
  return items;
}

/** How many items a range had in the past; does not visit those that did not change. */
export function countOfPast<T>(present: SortedMap<T>, undo: Undo<T>, range: RevisionRange): number {
  let count = present.count(range.start, range.end);
  for (const [key, value] of undo)
    if (isInside(range, key)) count += (value === undefined ? 0 : 1) - (present.has(key) ? 1 : 0);
  return count;
}
