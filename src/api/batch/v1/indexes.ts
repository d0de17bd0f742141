// Sets of completion indexes as jobs write them: "1,3-5,7".

interface Interval {
  readonly first: number;
  readonly last: number;
}

/** How many indexes the text names; throws an Error that says what is wrong with it. All are below `completions`. */
export function countIndexes(text: string, completions: number): number {
  if (text === "") return 0;
  let count = 0;
  let previous: number | undefined;
  for (const part of text.split(",")) {
    const { first, last } = parseInterval(part, completions);
    if (previous !== undefined && previous >= first)
      throw new Error(`non-increasing order, previous: ${previous}, current: ${first}`);
    count += last - first + 1;
    previous = last;
  }
  return count;
}

/** The first index found in both sets. What cannot be read is passed over: its form is checked elsewhere. */
export function firstOverlap(completed: string, failed: string, completions: number): number | undefined {
  const intervals = (text: string) =>
    text.split(",").flatMap((part) => {
      try {
        return [parseInterval(part, completions)];
      } catch {
        return []; // reported where the form of the set is checked
      }
    });
  const done = intervals(completed);
  const bad = intervals(failed);
  for (let c = 0, f = 0; c < done.length && f < bad.length; ) {
    const a = done[c] as Interval;
    const b = bad[f] as Interval;
    if (a.first <= b.last && b.first <= a.last) return Math.max(a.first, b.first);
    if (a.first <= b.first) c++;
    else f++;
  }
  return undefined;
}

function parseInterval(text: string, completions: number): Interval {
  const parts = text.split("-");
  if (parts.length > 2)
    throw new Error(
      `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`,
    );
  const [first, last] = parts.map((part) => parseIndex(part, completions)) as [number, number?];
  if (last === undefined) return { first, last: first };
  if (first >= last) throw new Error(`non-increasing order, previous: ${first}, current: ${last}`);
  return { first, last };
}

function parseIndex(text: string, completions: number): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`cannot convert string to integer for index: ${JSON.stringify(text)}`);
  if (Number(text) >= completions) throw new Error(`too large index: ${JSON.stringify(text)}`);
  return Number(text);
}
