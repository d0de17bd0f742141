// --sort-by (upstream: kubectl/pkg/cmd/get/sorter.go).
import { compareQuantity, parseQuantity, type Quantity, QuantityError } from "#schema/quantity.ts";
import { KubectlError } from "../errors.ts";
import { compareText, floatOf, type GoValue, integerOf } from "../go/value.ts";
import { parseJsonPath, relaxedJsonPath } from "./json-path.ts";
import type { PrintableObject } from "./printer.ts";

/** Objects without the field come first. Throws KubectlError if none has it, or if it cannot be sorted by. */
export function sortObjects<T extends PrintableObject>(objects: readonly T[], field: string): readonly T[] {
  const expression = relaxedJsonPath(field);
  const path = parseJsonPath(expression, true);
  const keyed = objects.map((object) => {
    const [results = []] = path.find(object);
    return { object, isFound: results.length > 0, value: results[0] as GoValue };
  });
  if (objects.length > 0 && !keyed.some(({ isFound }) => isFound))
    throw new KubectlError(`couldn't find any field with path ${JSON.stringify(expression)} in the list of objects`);
  return keyed
    .toSorted((a, b) => {
      if (!a.isFound || !b.isFound) return Number(a.isFound) - Number(b.isFound);
      return compareValues(a.value, b.value);
    })
    .map(({ object }) => object);
}

function compareValues(a: GoValue, b: GoValue): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  if (typeof a === "string" && typeof b === "string") return compareStrings(a, b);
  const [i, j] = [integerOf(a), integerOf(b)];
  if (i !== undefined && j !== undefined) return i < j ? -1 : Number(i > j);
  const [x, y] = [floatOf(a), floatOf(b)];
  if (x !== undefined && y !== undefined) return x - y;
  throw new KubectlError(`unsortable type: ${typeof a}`);
}

/** Quantities by their amount, other texts by their bytes. */
function compareStrings(a: string, b: string): number {
  const [x, y] = [quantityIn(a), quantityIn(b)];
  return x && y ? compareQuantity(x, y) : compareText(a, b);
}

function quantityIn(text: string): Quantity | undefined {
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}
