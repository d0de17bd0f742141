// What differs between two values, as upstream adds it to refusals: a unified diff of both as indented JSON. Which of several equal lines
// is taken for the one that stayed follows Python's difflib, which upstream's library is a port of: the longest run of equal lines
// first, then those before and after it. Lines that are very frequent begin no run.
// Upstream: pkg/apis/core/validation/validation.go and staging/src/k8s.io/apimachinery/pkg/util/diff/diff.go.
import type { AnyStruct } from "#schema/struct.ts";
import { internalForm, isWider, storedForm } from "../../../internal-form.ts";

const context = 3;
/** Of values with more fields and items no difference is shown: to find it would hold the event loop. */
const mostValues = 5000;
/** Beyond this many pairs of lines, all between the equal ends is shown as replaced: to find runs takes work that grows with the pairs. */
const mostPairs = 1_000_000;

/** The same of a struct as it was stored and as it is to be. */
export function storedDifference(struct: AnyStruct, before: object, after: object): string {
  const values = (value: object) => value as Readonly<Record<string, unknown>>;
  if (isWider(before, mostValues) || isWider(after, mostValues)) return "";
  return difference(storedForm(struct, values(before)), internalForm(struct, values(after)));
}

/** Structs are to be given in their internal form. */
export function difference(before: unknown, after: unknown): string {
  const script = scriptOf(linesOf(before), linesOf(after));
  let text = "";
  for (const [start, end] of hunks(script)) {
    const part = script.slice(start, end);
    const count = (sign: string) => part.filter(({ kind }) => kind === " " || kind === sign).length;
    const first = part[0];
    text += `@@ -${range(first?.before ?? 0, count("-"))} +${range(first?.after ?? 0, count("+"))} @@\n`;
    for (const { kind, line } of part) text += `${kind}${line}\n`;
  }
  return text;
}

const linesOf = (value: unknown): readonly string[] => JSON.stringify(value, null, 1).split("\n");
const range = (start: number, length: number): string => {
  if (length === 1) return `${start + 1}`;
  return `${length === 0 ? start : start + 1},${length}`;
};

interface Edit {
  readonly kind: " " | "-" | "+";
  readonly line: string;
  /** Lines of either side that come before this one. */
  readonly before: number;
  readonly after: number;
}

/** Lines that are equal on both sides: `size` of them, from `a` on one side and from `b` on the other. */
interface Run {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

function scriptOf(a: readonly string[], b: readonly string[]): readonly Edit[] {
  const ends = equalEnds(a, b);
  const runs = a.length * b.length > mostPairs ? ends : equalRuns(a, b);
  const script: Edit[] = [];
  let i = 0;
  let j = 0;
  for (const run of [...runs, { a: a.length, b: b.length, size: 0 }]) {
    for (; i < run.a; i++) script.push({ kind: "-", line: a[i] ?? "", before: i, after: j });
    for (; j < run.b; j++) script.push({ kind: "+", line: b[j] ?? "", before: i, after: j });
    for (; i < run.a + run.size; i++, j++) script.push({ kind: " ", line: a[i] ?? "", before: i, after: j });
  }
  return script;
}

function equalEnds(a: readonly string[], b: readonly string[]): readonly Run[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  return [
    { a: 0, b: 0, size: head },
    { a: a.length - tail, b: b.length - tail, size: tail },
  ];
}

/** What is still to be compared: lines of either side, up to but without the end. */
interface Span {
  readonly a: number;
  readonly aEnd: number;
  readonly b: number;
  readonly bEnd: number;
}

function equalRuns(a: readonly string[], b: readonly string[]): readonly Run[] {
  const places = placesOf(b);
  const runs: Run[] = [];
  const open: Span[] = [{ a: 0, aEnd: a.length, b: 0, bEnd: b.length }];
  for (let span = open.pop(); span; span = open.pop()) {
    const run = longestRun(a, b, places, span);
    if (run.size === 0) continue;
    runs.push(run);
    open.push({ ...span, aEnd: run.a, bEnd: run.b }, { ...span, a: run.a + run.size, b: run.b + run.size });
  }
  return runs.sort((one, other) => one.a - other.a);
}

/** Where each line stands. Of 200 lines or more, those are left out that make up more than a hundredth. */
function placesOf(lines: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (const [i, line] of lines.entries()) {
    const known = places.get(line);
    if (known) known.push(i);
    else places.set(line, [i]);
  }
  if (lines.length < 200) return places;
  const most = Math.floor(lines.length / 100) + 1;
  return new Map([...places].filter(([, found]) => found.length <= most));
}

/** The longest run in a span, and of those as long the first. Frequent lines may extend it. */
function longestRun(
  a: readonly string[],
  b: readonly string[],
  places: ReadonlyMap<string, readonly number[]>,
  span: Span,
): Run {
  let best: Run = { a: span.a, b: span.b, size: 0 };
  let lengths = new Map<number, number>(); // of the runs that end at the line of a before this one, by their ends in b
  for (let i = span.a; i < span.aEnd; i++) {
    const next = new Map<number, number>();
    for (const j of places.get(a[i] ?? "") ?? []) {
      if (j < span.b) continue;
      if (j >= span.bEnd) break;
      const size = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, size);
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
    }
    lengths = next;
  }
  let { a: start, b: other, size } = best;
  for (; start > span.a && other > span.b && a[start - 1] === b[other - 1]; size++) {
    start--;
    other--;
  }
  while (start + size < span.aEnd && other + size < span.bEnd && a[start + size] === b[other + size]) size++;
  return { a: start, b: other, size };
}

/** Changes with the lines around them, as [start, end) of the script. */
function* hunks(script: readonly Edit[]): Iterable<[start: number, end: number]> {
  let open: [number, number] | undefined;
  for (const [index, { kind }] of script.entries()) {
    if (kind === " ") continue;
    const [start, end] = [Math.max(index - context, 0), Math.min(index + context + 1, script.length)];
    if (open && start <= open[1]) open[1] = end;
    else {
      if (open) yield open;
      open = [start, end];
    }
  }
  if (open) yield open;
}
