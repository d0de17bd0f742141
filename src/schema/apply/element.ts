// One step of a field's path, as FieldsV1 writes it: `f:name` a field, `k:{"name":"x"}` the list item with these keys,
// `v:"x"` the member of a set, `i:0` an index. An element is kept as that text, always in one spelling, so two elements
// are equal when their texts are, and the text serves as a property name: its prefix keeps it apart from whatever a
// plain object inherits (`f:__proto__` is a name like any other).
import { parseJson } from "../json.ts";
import { compareText, compareValues, goJson, goQuote, isMap } from "./value.ts";

/** Why a text is no set of fields: a client sent it, or the store was tampered with. */
export class FieldSetError extends Error {
  override readonly name = "FieldSetError";
}

export const fieldElement = (name: string): string => `f:${name}`;
export const valueElement = (value: unknown): string => `v:${goJson(value)}`;

/** `keys` must be in the order of their names. */
export const keyElement = (keys: readonly (readonly [string, unknown])[]): string =>
  `k:{${keys.map(([name, value]) => `${goJson(name)}:${goJson(value)}`).join(",")}}`;

export const isField = (element: string): boolean => element.startsWith("f:");
export const isKey = (element: string): boolean => element.startsWith("k:");
/** The name of a field element. */
export const fieldName = (element: string): string => element.slice(2);

/** The keys of a list item, in the order of their names. */
export const keysOf = (element: string): readonly (readonly [string, unknown])[] =>
  Object.entries(parseJson(element.slice(2)).value as object).sort(([a], [b]) => compareText(a, b));

/**
 * The element in its one spelling. Undefined for kinds of elements that are not known: a later version may have written
 * them, and upstream drops them too.
 */
export function parseElement(text: string): string | undefined {
  if (text.length < 2) throw new FieldSetError("parsing key as path element: key must be 2 characters long:");
  if (text[1] !== ":") throw new FieldSetError(`parsing key as path element: missing colon: ${text}`);
  const body = text.slice(2);
  switch (text[0]) {
    case "f":
      return text;
    case "v":
      return valueElement(parsed(text, body));
    case "k": {
      if (plainKey.test(text)) return text;
      const keys = parsed(text, body);
      if (keys !== null && !isMap(keys)) throw new FieldSetError(`parsing key as path element: ${text}: not an object`);
      return keyElement(Object.entries(keys ?? {}).sort(([a], [b]) => compareText(a, b)));
    }
    case "i":
      if (!/^[+-]?[0-9]{1,15}$/.test(body))
        throw new FieldSetError(`parsing key as path element: ${text}: not a number`);
      return `i:${Number(body)}`;
    default:
      return undefined;
  }
}

/** A single key in the one spelling, as almost all are. */
const plainKey = /^k:\{"[\w.-]+":(?:"[\w ./:@-]*"|[1-9][0-9]{0,14})\}$/;

function parsed(text: string, body: string): unknown {
  try {
    return parseJson(body).value;
  } catch (cause) {
    throw new FieldSetError(`parsing key as path element: ${text}`, { cause });
  }
}

const ranks: Readonly<Record<string, number>> = { ".": 0, f: 1, k: 2, v: 3, i: 4 };
const rank = (element: string): number => ranks[element[0] ?? ""] ?? 5;

/** Upstream's order: fields by name, then list items by their keys, set members by value, indexes by number. */
export function compareElements(a: string, b: string): number {
  if (a === b) return 0;
  const kind = rank(a);
  if (kind !== rank(b)) return kind - rank(b);
  if (kind === 1) return compareText(a, b);
  return compareRead(read(a), read(b));
}

/** An element with what it is compared by. */
interface SortKey {
  readonly element: string;
  readonly rank: number;
  readonly keys?: ReturnType<typeof keysOf>;
  readonly value?: unknown;
}

function read(element: string): SortKey {
  const kind = rank(element);
  if (kind === 2) return { element, rank: kind, keys: keysOf(element) };
  if (kind === 3) return { element, rank: kind, value: parseJson(element.slice(2)).value };
  return { element, rank: kind };
}

function compareRead(a: SortKey, b: SortKey): number {
  if (a.rank !== b.rank) return a.rank - b.rank;
  if (a.rank === 1) return compareText(a.element, b.element);
  if (a.keys && b.keys) return compareKeys(a.keys, b.keys);
  if (a.rank === 3) return compareValues(a.value, b.value);
  return Number(a.element.slice(2)) - Number(b.element.slice(2));
}

/** Up to this many elements are compared without preparation. */
const few = 16;

/** Sorts into upstream's order. Of many elements each is parsed once: parsing in each comparison took a quarter of a second for 40,000. */
export function inElementOrder(elements: readonly string[]): readonly string[] {
  if (elements.length <= few) return elements.toSorted(compareElements);
  const byRank = [...Map.groupBy(elements, rank)].sort(([a], [b]) => a - b);
  return byRank.flatMap(
    ([, alike]) =>
      inPlainOrder(alike) ??
      alike
        .map(read)
        .sort(compareRead)
        .map((one) => one.element),
  );
}

/**
 * Elements that differ in one plain text only, as fields, names and most members of sets do: their order is that of their own texts,
 * since no letter of those comes before the quote at their end, and the language sorts texts fastest. Undefined if they are not like that.
 */
function inPlainOrder(elements: readonly string[]): readonly string[] | undefined {
  const start = /^(?:f:|v:"|k:\{"[\w.-]+":")/.exec(elements[0] ?? "")?.[0];
  if (start === undefined) return undefined;
  const plain = start === "f:" ? /^\p{ASCII}*$/u : start.startsWith("v") ? plainValue : plainKeyValue;
  return elements.every((element) => element.startsWith(start) && plain.test(element))
    ? elements.toSorted()
    : undefined;
}
const plainValue = /^v:"[\w./:@-]*"$/;
const plainKeyValue = /^k:\{"[\w.-]+":"[\w./:@-]*"\}$/;

function compareKeys(a: ReturnType<typeof keysOf>, b: ReturnType<typeof keysOf>): number {
  for (let i = 0; ; i++) {
    const left = a[i];
    const right = b[i];
    if (!left || !right) return (left ? 1 : 0) - (right ? 1 : 0);
    const order = compareText(left[0], right[0]) || compareValues(left[1], right[1]);
    if (order !== 0) return order;
  }
}

/** As upstream prints paths in conflicts and errors: `.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"]`. */
export const pathText = (path: readonly string[]): string => path.map(elementText).join("");

export function elementText(element: string): string {
  const body = element.slice(2);
  switch (element[0]) {
    case "f":
      return `.${body}`;
    case "k":
      return `[${keysOf(element)
        .map(([name, value]) => `${name}=${valueText(value)}`)
        .join(",")}]`;
    case "v":
      return `[=${valueText(parseJson(body).value)}]`;
    default:
      return `[${body}]`;
  }
}

function valueText(value: unknown): string {
  if (typeof value === "string") return goQuote(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(",")}]`;
  if (isMap(value))
    return Object.entries(value)
      .map(([key, one]) => `${key}=${valueText(one)}`)
      .join("");
  return String(value);
}
