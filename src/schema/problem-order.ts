// The order in which problems are told. It is that of the declarations, unless a struct says otherwise: upstream's is that of its
// validators, which were written by hand.
import type { FieldSpec, Type } from "./field.ts";
import type { Problem } from "./problem.ts";
import type { AnyStruct } from "./struct.ts";

/** Compares problems of a struct that has a `problemOrder`, down to the first part that has none. */
export const inOrderOf =
  (struct: AnyStruct) =>
  (a: Problem, b: Problem): number =>
    a.isLast || b.isLast
      ? Number(a.isLast ?? false) - Number(b.isLast ?? false)
      : compare({ is: "struct", struct: () => struct }, segmentsOf(a.field), segmentsOf(b.field));

const segmentsOf = (path: string): readonly string[] =>
  [...path.matchAll(/\[([^\]]*)\]|[^.[]+/g)].map((match) => match[1] ?? match[0]);

function compare(root: Type, a: readonly string[], b: readonly string[]): number {
  let type: Type | undefined = root;
  for (let i = 0; type && i < a.length && i < b.length; i++) {
    const [left = "", right = ""] = [a[i], b[i]];
    if (type.is === "list") {
      if (left !== right) return Number(left) - Number(right) || 0;
      type = type.item;
    } else if (type.is === "struct") {
      const struct: AnyStruct = type.struct();
      const ranks = ranksOf(struct);
      if (!ranks) return 0;
      const order = (ranks.get(left) ?? ranks.size) - (ranks.get(right) ?? ranks.size);
      if (order !== 0 || left !== right) return order;
      type = (struct.fields as Readonly<Record<string, { readonly spec: FieldSpec }>>)[left]?.spec.type;
    } else return 0;
  }
  return 0;
}

const known = new WeakMap<AnyStruct, ReadonlyMap<string, number>>();

function ranksOf(struct: AnyStruct): ReadonlyMap<string, number> | undefined {
  if (struct.problemOrder === undefined) return undefined;
  const ranks =
    known.get(struct) ??
    new Map(
      struct.problemOrder
        .trim()
        .split(/\s+/)
        .map((field, i) => [field, i]),
    );
  known.set(struct, ranks);
  return ranks;
}
