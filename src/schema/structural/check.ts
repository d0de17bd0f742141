// Whether a value is as its schema says. Follows kube-openapi/pkg/validation/validate and its words, and for updates
// apiextensions-apiserver/pkg/apiserver/validation/ratcheting.go: a value that did not change is not refused for what it is.
import { equal } from "#base/collections.ts";
import { goQuote, type JsonMap } from "../apply/value.ts";
import { invalid, mostProblems, notSupported, type Problem, required, tooLong, tooMany } from "../problem.ts";
import { type Before, Correlation } from "./correlate.ts";
import { formatTest } from "./formats.ts";
import { isInt64, isNearlyInteger, isNumeric, numberProblems } from "./numbers.ts";
import { compilePattern, type Pattern, PatternError } from "./pattern.ts";
import { isMap, type SchemaNode, valueNode } from "./schema.ts";

/** The problems of a value at a place of the object: `""` is the whole, messages name what is below. With `before`, of the update from it. */
export function checkValue(node: SchemaNode, value: unknown, place: string, before?: Before): Problem[] {
  const found = new Findings(place, before === undefined ? undefined : new Correlation());
  check(node, value, "", before, found);
  return found.problems;
}

/** The problems so far, without repetitions. */
class Findings {
  readonly problems: Problem[] = [];
  readonly place: string;
  /** Undefined of a create. */
  readonly correlation: Correlation | undefined;
  #seen: Set<string> | undefined;
  #size = 0;

  constructor(place: string, correlation: Correlation | undefined) {
    this.place = place;
    this.correlation = correlation;
  }

  get isFull(): boolean {
    return this.problems.length >= mostProblems || this.#size >= mostText;
  }

  /** Those of an alternative that may turn out not to matter. */
  aside(): Findings {
    return new Findings(this.place, this.correlation);
  }

  add(problem: Problem): void {
    if (this.isFull) return;
    const key = keyOf(problem);
    this.#seen ??= new Set();
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.problems.push(problem);
    this.#size += sizeOf(problem);
  }

  /** Forgets all but the first ones. */
  keep(count: number): void {
    for (const problem of this.problems.splice(count)) {
      this.#seen?.delete(keyOf(problem));
      this.#size -= sizeOf(problem);
    }
  }

  merge({ problems }: Findings): void {
    for (const problem of problems) this.add(problem);
  }

  /** The field that a path names. Of the whole, it is the place; an item of the whole has a dot in front, as upstream's has. */
  field(path: string): string {
    const name = path.replace(/^\./, "");
    if (name === "") return this.place === "" ? "<nil>" : this.place;
    return this.place === "" ? name : `${this.place}.${name}`;
  }

  /** A problem without a field, which is as much about the schema as about the value. */
  addGeneral(text: string): void {
    this.add(invalid(this.field(""), text, ""));
  }
}

const keyOf = ({ type, field, detail }: Problem): string => `${type} ${field} ${detail}`;
const sizeOf = ({ field, detail, value }: Problem): number =>
  field.length + detail.length + (typeof value === "string" ? value.length : 0);

/** The most characters that problems may have together: a long key stands in the path of all that is below it. */
export const mostText = 2 ** 20;

/** The path as messages have it; it begins with a dot or a bracket, or is empty. */
const nameOf = (path: string): string => path.replace(/^\./, "");

/**
 * Adds the problems of a value. The result is a score of how much of the value fits the schema: of several alternatives that fail, upstream
 * reports the one with the highest score.
 */
function check(node: SchemaNode, value: unknown, path: string, before: Before | undefined, found: Findings): number {
  const start = found.problems.length;
  const count = checkNode(node, value, path, before, found);
  if (found.problems.length > start && !isTypeName(path) && found.correlation?.isSame(node, value, before))
    found.keep(start);
  return count;
}

/** Both objects of an update are of the version it is made in, so a change of these would not show. */
const isTypeName = (path: string): boolean => path === ".kind" || path === ".apiVersion";

function checkNode(
  node: SchemaNode,
  value: unknown,
  path: string,
  before: Before | undefined,
  found: Findings,
): number {
  if (found.isFull) return 0;
  let count = 0;
  if (value === null) {
    count += checkType(node, value, path, found);
    checkEnum(node, value, path, found);
    return count;
  }
  if (node.types.length > 0 || node.format !== "") count += 1 + checkType(node, value, path, found);
  count += 1 + checkAlternatives(node, value, path, before, found);
  if (typeof value === "string") {
    count += 1;
    checkText(node, value, path, found);
    if (node.format !== "") count += formatTest(node.format) ? 1 : 0;
  } else if (isNumeric(value)) {
    count += 2;
    for (const { textFor, isOfValue } of numberProblems(node, value))
      if (isOfValue) found.add(invalid(found.field(path), textFor(nameOf(path)), value));
      else found.addGeneral(textFor(nameOf(path)));
  } else if (Array.isArray(value)) count += 2 + checkItems(node, value, path, before, found);
  checkEnum(node, value, path, found);
  count += 1;
  if (isMap(value)) count += 1 + checkFields(node, value, path, before, found);
  return count + 1;
}

/** The type of a value, as JSON Schema calls it. */
function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isNumeric(value)) return isInt64(value) ? "integer" : "number";
  return typeof value === "object" ? "object" : typeof value;
}

/** Go's names of formats, of values that are of no type they could have. */
const goFormats: Readonly<Record<string, string>> = { integer: "int64", number: "float64" };

/** One more if the type is right. */
function checkType({ types, format, nullable }: SchemaNode, value: unknown, path: string, found: Findings): number {
  const refuse = (wanted: string, is: string): number => {
    const text = `${nameOf(path)} in body must be of type ${wanted}: "${is}"`;
    found.add({ ...invalid(found.field(path), text, is), type: "TypeInvalid" });
    return 0;
  };
  const is = typeOf(value);
  if (value === null) return types.length > 0 && !nullable ? refuse(types.join(","), is) : 1;
  const fits =
    types.includes(is) ||
    (is === "integer" && types.includes("number")) ||
    (is === "number" && types.includes("integer") && isNearlyInteger(Number(value)));
  const isNumber = types.includes("number") || types.includes("integer");
  if (format !== "" && is !== "string" && is !== "array" && !fits) return refuse(format, goFormats[is] ?? "");
  // A format says what a text must be; upstream asks no more of lists.
  if (format !== "" && !isNumber && (is === "string" || is === "array")) return 1;
  return fits || types.length === 0 ? 1 : refuse(types.join(","), is);
}

function checkEnum(node: SchemaNode, value: unknown, path: string, found: Findings): void {
  if (
    node.rest.enum.length === 0 ||
    (value !== null && node.rest.enum.some((one) => isEqualNumber(one, value) || equal(one, value)))
  )
    return;
  const words = node.rest.enum.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  found.add(notSupported(found.field(path), words, value));
}

/** Integers are equal to doubles of the same value. */
const isEqualNumber = (a: unknown, b: unknown): boolean => isNumeric(a) && isNumeric(b) && a <= b && a >= b;

const patterns = new WeakMap<SchemaNode, Pattern | string>();

/** The compiled expression, or what is wrong with it. */
function patternOf(node: SchemaNode): Pattern | string {
  const known = patterns.get(node);
  if (known !== undefined) return known;
  let made: Pattern | string;
  try {
    made = compilePattern(node.rest.limits.pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    made = error.message;
  }
  patterns.set(node, made);
  return made;
}

function checkText(node: SchemaNode, value: string, path: string, findings: Findings): void {
  const { minLength, maxLength, pattern } = node.rest.limits;
  const refuse = (text: string): void =>
    findings.add(invalid(findings.field(path), `${nameOf(path)} in body should ${text}`, value));
  if (maxLength !== undefined && isLonger(value, maxLength)) findings.add(tooLong(findings.field(path), maxLength));
  else if (minLength !== undefined && minLength > 0 && !isLonger(value, minLength - 1))
    refuse(`be at least ${minLength} chars long`);
  else if (pattern !== "") {
    const compiled = patternOf(node);
    if (typeof compiled === "string") refuse(`match '${pattern}, but pattern is invalid: ${compiled}'`);
    else if (!compiled.test(value)) refuse(`match '${pattern}'`);
  }
  const test = node.format === "" ? undefined : formatTest(node.format);
  if (test === undefined || test(value)) return;
  const text = `${nameOf(path)} in body must be of type ${node.format}: ${goQuote(value)}`;
  findings.add({ ...invalid(findings.field(path), text, value), type: "TypeInvalid" });
}

/** Whether a text has more characters than that; a character takes one or two units. */
function isLonger(text: string, most: number): boolean {
  if (text.length <= most) return false;
  if (text.length > most * 2) return true;
  let count = 0;
  for (const _ of text) count++;
  return count > most;
}

function checkItems(
  node: SchemaNode,
  items: readonly unknown[],
  path: string,
  before: Before | undefined,
  found: Findings,
): number {
  const { minItems, maxItems, uniqueItems } = node.rest.limits;
  let count = 0;
  if (node.items)
    for (const [i, item] of items.entries())
      count += check(node.items, item, `${path}[${i}]`, found.correlation?.item(node, before, item), found);
  if (minItems !== undefined && items.length < minItems)
    found.add(
      invalid(found.field(path), `${nameOf(path)} in body should have at least ${minItems} items`, items.length),
    );
  if (maxItems !== undefined && items.length > maxItems) found.add(tooMany(found.field(path), items.length, maxItems));
  if (uniqueItems && new Set(items.map((item) => canonical(item))).size < items.length)
    found.add(invalid(found.field(path), `${nameOf(path)} in body shouldn't contain duplicates`, ""));
  return count;
}

/** The same text for equal values. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    isMap(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );

function checkFields(
  node: SchemaNode,
  object: JsonMap,
  path: string,
  before: Before | undefined,
  found: Findings,
): number {
  const { minProperties, maxProperties } = node.rest.limits;
  const names = Object.keys(object);
  let count = 0;
  if (minProperties !== undefined && names.length < minProperties) {
    const text = `${nameOf(path)} in body should have at least ${minProperties} properties`;
    found.add(invalid(found.field(path), text, names.length));
  }
  if (maxProperties !== undefined && names.length > maxProperties)
    found.add(tooMany(found.field(path), names.length, maxProperties));
  const values = valueNode(node);
  const part = (inner: SchemaNode, name: string): number =>
    check(inner, object[name], `${path}.${name}`, found.correlation?.field(before, name), found);
  if (values || node.additional === false)
    for (const name of names) {
      if (node.properties.has(name)) continue;
      if (values) count += part(values, name);
      else found.add(invalid(found.field(path), `${nameOf(path)}.${name} in body is a forbidden property`, name));
    }
  for (const [name, property] of node.properties) if (Object.hasOwn(object, name)) count += part(property, name);
  for (const name of node.rest.required)
    if (!Object.hasOwn(object, name)) found.add(required(found.field(`${path}.${name}`)));
  return count;
}

/** The logical keywords: each narrows down what the rest of the schema says. */
function checkAlternatives(
  node: SchemaNode,
  value: unknown,
  path: string,
  before: Before | undefined,
  found: Findings,
): number {
  const { anyOf, oneOf, allOf, not } = node.rest;
  if (anyOf.length + oneOf.length + allOf.length === 0 && not === undefined) return 1;
  const attempt = (one: SchemaNode): Attempt => {
    const aside = found.aside();
    const count = checkNode(one, value, path, before, aside);
    return { count, found: aside, isValid: aside.problems.length === 0 };
  };
  const refuse = (text: string): void => found.addGeneral(`${goQuote(nameOf(path))} must ${text}`);
  let count = 1;
  if (anyOf.length > 0) {
    const { best, valid } = weighed(anyOf, attempt, true);
    if (valid === 0) refuse("validate at least one schema (anyOf)");
    if (best) {
      found.merge(best.found);
      count += best.count;
    }
  }
  if (oneOf.length > 0) {
    const { best, valid } = weighed(oneOf, attempt, false);
    const words = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
    if (valid !== 1) refuse(`validate one and only one schema (oneOf). ${words}`);
    if (best && valid < 2) {
      found.merge(best.found);
      count += best.count;
    }
  }
  if (allOf.length > 0) {
    const all = allOf.map(attempt);
    for (const one of all) {
      found.merge(one.found);
      count += one.count;
    }
    const valid = all.filter(({ isValid }) => isValid).length;
    if (valid < all.length) refuse(`validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`);
  }
  if (not && attempt(not).isValid) refuse("not validate the schema (not)");
  return count;
}

interface Attempt {
  readonly count: number;
  readonly found: Findings;
  readonly isValid: boolean;
}

/** How many alternatives hold, and the first of them; if there is none, the first of those that fail least. */
function weighed(
  nodes: readonly SchemaNode[],
  attempt: (node: SchemaNode) => Attempt,
  firstOnly: boolean,
): { best: Attempt | undefined; valid: number } {
  let best: Attempt | undefined;
  let valid = 0;
  for (const node of nodes) {
    const made = attempt(node);
    if (made.isValid) {
      if (valid++ === 0) best = made;
      if (firstOnly) break;
    } else if (valid === 0 && (best === undefined || made.count > best.count)) best = made;
  }
  return { best, valid };
}
