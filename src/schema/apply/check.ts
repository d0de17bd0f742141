// Whether an applied configuration fits its schema, in upstream's words.
import { entryShape, isListShape, partOf } from "./compare.ts";
import { elementText, fieldElement } from "./element.ts";
import {
  type ApplyListShape,
  type ApplyShape,
  itemElement,
  ListItemError,
  type MapShape,
  type ScalarShape,
} from "./shape.ts";
import { goSyntax, goText, goType, isMap, type JsonMap } from "./value.ts";

interface ShapeProblem {
  readonly path: string;
  readonly message: string;
}

/** The problems, as one text; undefined when the value fits. `duplicates` allows list items with equal keys. */
export function misfits(shape: ApplyShape, value: unknown, duplicates = false): string | undefined {
  const found: ShapeProblem[] = [];
  check({ found, duplicates }, "", shape, value);
  const lines = found.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return lines.length <= 1 ? lines[0] : ["errors:", ...lines.map((line) => `  ${line}`)].join("\n");
}

interface Findings {
  readonly found: ShapeProblem[];
  readonly duplicates: boolean;
}

function check(to: Findings, path: string, shape: ApplyShape, value: unknown): void {
  const part = partOf(shape, value);
  if (value === null || part === undefined) return;
  if (part === "scalar") {
    const message = scalarMisfit(shape.scalar ?? "untyped", value);
    if (message) to.found.push({ path, message });
  } else if (isListShape(part)) {
    if (Array.isArray(value)) checkItems(to, path, part, value);
    else to.found.push({ path, message: `expected list, got &{${goText(value)}}` });
  } else if (isMap(value)) checkEntries(to, path, part, value);
  else to.found.push({ path, message: `expected map, got &{${goText(value)}}` });
}

function scalarMisfit(scalar: ScalarShape, value: unknown): string | undefined {
  switch (scalar) {
    case "numeric":
      return typeof value === "number" || typeof value === "bigint"
        ? undefined
        : `expected numeric (int or float), got ${goType(value)}`;
    case "string":
      return typeof value === "string"
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
    case "boolean":
      return typeof value === "boolean" ? undefined : `expected boolean, got &{${goText(value)}}`;
    case "untyped":
      return typeof value === "object" ? `expected any scalar, got &{${goText(value)}}` : undefined;
  }
}

function checkItems(to: Findings, path: string, list: ApplyListShape, items: readonly unknown[]): void {
  const seen = new Set<string>();
  for (const [i, item] of items.entries()) {
    if (list.atomic) {
      check(to, `${path}[${i}]`, list.item, item);
      continue;
    }
    try {
      const element = itemElement(list, item);
      const at = elementText(element);
      if (seen.has(element) && !to.duplicates) to.found.push({ path, message: `duplicate entries for key ${at}` });
      seen.add(element);
      check(to, path + at, list.item, item);
    } catch (error) {
      if (!(error instanceof ListItemError)) throw error;
      to.found.push({ path, message: `element ${i}: ${error.message}` });
      return;
    }
  }
}

function checkEntries(to: Findings, path: string, map: MapShape, entries: JsonMap): void {
  for (const key of Object.keys(entries)) {
    if (entries[key] === undefined) continue;
    const at = path + elementText(fieldElement(key));
    const entry = entryShape(map, key);
    if (entry === undefined) {
      to.found.push({ path: at, message: "field not declared in schema" });
      return;
    }
    check(to, at, entry.shape, entries[key]);
  }
}
