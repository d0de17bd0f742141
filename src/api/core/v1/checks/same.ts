// Whether two values mean the same, and what differs if not.
import { compareQuantity, parseQuantity } from "#schema/quantity.ts";

const amountFields = new Set(["limits", "requests", "overhead", "capacity", "allocatable"]);

/** Equal but for what means nothing: lists, maps and structs that are empty, and the way an amount is written. */
export function same(a: unknown, b: unknown, areAmounts = false): boolean {
  if (a === b || (means(a) === undefined && means(b) === undefined)) return true;
  if (areAmounts && typeof a === "string" && typeof b === "string")
    return compareQuantity(parseQuantity(a), parseQuantity(b)) === 0;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]));
  const left = new Map<string, unknown>(Object.entries(a));
  const right = new Map<string, unknown>(Object.entries(b));
  const keys = new Set([...left.keys(), ...right.keys()]);
  return [...keys].every((key) => same(left.get(key), right.get(key), areAmounts || amountFields.has(key)));
}

const means = (value: unknown): unknown =>
  typeof value === "object" && value !== null && Object.values(value).every((inner) => inner === undefined)
    ? undefined
    : value;

const context = 3;
const mostCells = 4_000_000;

/** A unified diff of the two as indented JSON, as upstream adds it to messages; of structs, in their internal form. */
export function difference(before: unknown, after: unknown): string {
  const script = edits(lines(before), lines(after));
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

const lines = (value: unknown): readonly string[] => JSON.stringify(value, null, 1).split("\n");
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

/** The lines of both sides along a longest common subsequence. Beyond a size, all between the equal ends is replaced. */
function edits(a: readonly string[], b: readonly string[]): readonly Edit[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const left = a.slice(head, a.length - tail);
  const right = b.slice(head, b.length - tail);
  const common = left.length * right.length > mostCells ? undefined : commonLengths(left, right);
  const script: Edit[] = [];
  const add = (kind: Edit["kind"], line: string, before: number, after: number) =>
    script.push({ kind, line, before, after });
  for (let i = 0; i < head; i++) add(" ", a[i] ?? "", i, i);
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    const [before, after] = [head + i, head + j];
    if (i < left.length && j < right.length && left[i] === right[j] && common) {
      add(" ", left[i++] ?? "", before, after);
      j++;
    } else if (
      i < left.length &&
      (j === right.length || !common || (common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0))
    )
      add("-", left[i++] ?? "", before, after);
    else add("+", right[j++] ?? "", before, after);
  }
  for (let k = tail; k > 0; k--) add(" ", a.at(-k) ?? "", a.length - k, b.length - k);
  return script;
}

/** The length of the longest common subsequence of what remains from each pair of places. */
function commonLengths(a: readonly string[], b: readonly string[]): readonly Uint32Array[] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    const [row, below] = [table[i] ?? [], table[i + 1] ?? []];
    for (let j = b.length - 1; j >= 0; j--)
      row[j] = a[i] === b[j] ? 1 + (below[j + 1] ?? 0) : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
  }
  return table;
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
