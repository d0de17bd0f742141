// Reading the past: what is present, with the changes since taken back.
import type { SortedMap } from "#base/sorted-map.ts";

/** What each key that has changed since some revision held at it; undefined if it was absent. */
export type Undo<T> = ReadonlyMap<string, T | undefined>;

export interface Range {
  /** First key that may be in the range, and first one that may not; undefined for no end. */
  readonly start: string;
  readonly end: string | undefined;
  readonly limit: number;
}

/** The first `limit` items of a range in key order as of the past, and how many follow them. */
export function sliceOfPast<T>(
  present: SortedMap<T>,
  undo: Undo<T>,
  { start, end, limit }: Range,
): { items: [string, T][]; remaining: number } {
  const items: [string, T][] = [];
  const isInside = (key: string) => key >= start && (end === undefined || key < end);
  const restored = [...undo].filter((pair): pair is [string, T] => pair[1] !== undefined && isInside(pair[0]));
  restored.sort(([a], [b]) => (a < b ? -1 : 1));

  let next = 0;
  const takeRestored = (before?: string) => {
    for (; next < restored.length && items.length < limit; next++) {
      const pair = restored[next] as [string, T];
      if (before !== undefined && pair[0] > before) return;
      items.push(pair);
    }
  };
  for (const [key, value] of present.range(start, end)) {
    takeRestored(key);
    if (items.length >= limit) break;
    if (!undo.has(key)) items.push([key, value]);
  }
  takeRestored();

  const last = items.at(-1)?.[0];
  const behind = last === undefined ? start : `${last}\0`;
  let remaining = present.count(behind, end);
  for (const [key, value] of undo)
    if (isInside(key) && key >= behind) remaining += (value === undefined ? 0 : 1) - (present.has(key) ? 1 : 0);
  return { items, remaining };
}
