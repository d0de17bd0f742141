// The order in which problems are reported: that of the declarations, unless a struct has its own. Upstream's order is that of its
// hand-written validators.
import type { FieldSpec, Type } from "./field.ts";
import type { Problem, ProblemType } from "./problem.ts";
import type { AnyStruct } from "./struct.ts";

/** Compares problems of a struct that has a `problemOrder`, down to the first part that has none. */
export const inOrderOf =
  (struct: AnyStruct) =>
  (a: Problem, b: Problem): number =>
    a.isLast || b.isLast
      ? Number(a.isLast ?? false) - Number(b.isLast ?? false)
      : compare({ is: "struct", struct: () => struct }, placeOf(a), placeOf(b));

interface OrderPosition {
  readonly segments: readonly string[];
  readonly type: ProblemType;
}

const placeOf = ({ field, type }: Problem): OrderPosition => ({
  segments: [...field.matchAll(/\[([^\]]*)\]|[^.[]+/g)].map((match) => match[1] ?? match[0]),
  type,
});

function compare(root: Type, a: OrderPosition, b: OrderPosition): number {
  let type: Type | undefined = root;
  for (let i = 0; type && (i < a.segments.length || i < b.segments.length); i++) {
    const [left, right] = [a.segments[i], b.segments[i]];
    if (type.is === "list") {
      if (left !== right) return Number(left) - Number(right) || 0; // of a whole list and an item, neither comes first
      type = type.item;
    } else if (type.is === "struct") {
      const struct: AnyStruct = type.struct();
      const ranks = ranksOf(struct);
      if (!ranks) return 0;
      const order = rank(ranks, a, i) - rank(ranks, b, i);
      if (order !== 0 || left === undefined || left !== right) return order || 0;
      type = (struct.fields as Readonly<Record<string, { readonly spec: FieldSpec }>>)[left]?.spec.type;
    } else return 0;
  }
  return 0;
}

interface Ranks {
  readonly known: ReadonlyMap<string, number>;
  /** Of fields that are not named. */
  readonly others: number;
  /** How many parts the longest path has. */
  readonly parts: number;
}

/**
 * The rank of what is most exactly named: of the longest path, and of that with the type of the problem first. Paths leave out the
 * places of items. NaN for the struct itself, if it is not named.
 */
function rank({ known, others, parts }: Ranks, { segments, type }: OrderPosition, from: number): number {
  if (segments.length === from) return known.get(".") ?? Number.NaN;
  const names = segments.slice(from).filter((segment) => !/^\d+$/.test(segment));
  for (let count = parts; count > 0; count--) {
    const path = names.slice(0, count).join(".");
    const found = known.get(`${path}:${type}`) ?? known.get(path);
    if (found !== undefined) return found;
  }
  return others;
}

const compiled = new WeakMap<AnyStruct, Ranks>();

function ranksOf(struct: AnyStruct): Ranks | undefined {
  if (struct.problemOrder === undefined) return undefined;
  const ranks = compiled.get(struct) ?? ranksIn(struct.problemOrder);
  compiled.set(struct, ranks);
  return ranks;
}

function ranksIn(order: string): Ranks {
  const names = order.trim().split(/\s+/);
  const known = new Map(names.map((name, i) => [name, i]));
  return {
    known,
    others: known.get("*") ?? known.size,
    parts: Math.max(...names.map((name) => name.split(".").length)),
  };
}
