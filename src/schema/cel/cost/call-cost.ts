// What a call costs at run time. Follows cel-go's interpreter/runtimecost.go and ext/, and apiserver/pkg/cel/library/cost.go.
// It is charged before the call, so that one that would take too much memory does not happen.
import type { ListValue } from "../values/list.ts";
import { elementsOf, listOf } from "../values/list.ts";
import { type CelValue, codePointCount, isInt, sizeOf } from "../values/value.ts";
import { authorizationCheck, baseCosts, perCharacter, perPatternCharacter } from "./units.ts";

type CostOfArguments = (args: readonly CelValue[]) => number;

/** A number if it does not depend on the arguments. */
export type CallCost = number | CostOfArguments;

/** `overload` is empty if only the arguments will tell which one it is. */
export function callCost(name: string, overload: string): CallCost {
  return byOverload.get(overload) ?? byName.get(name) ?? languageCosts.get(overload) ?? 1;
}

function size(args: readonly CelValue[], index: number): number {
  return sizeOf(args[index] ?? null);
}

const traversal: CostOfArguments = (args) => Math.ceil(size(args, 0) * perCharacter);
const twoTraversals: CostOfArguments = (args) => Math.ceil(size(args, 0) * 2 * perCharacter);

/** Of going through all of a value, with all that is in it. */
function deepTraversal(value: CelValue): number {
  if (typeof value === "string") return Math.floor(utf8Length(value) * perCharacter);
  if (value instanceof Uint8Array) return Math.floor(value.length * perCharacter);
  if (typeof value !== "object" || value === null) return 1;
  let cost = 0;
  if (value.kind === "list") for (const element of elementsOf(value)) cost += deepTraversal(element);
  else if (value.kind === "map")
    for (const key of value.keys()) cost += deepTraversal(key) + deepTraversal(value.find(key) ?? null);
  else cost = 1;
  return cost;
}

function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

const patternSearch: CostOfArguments = (args) =>
  Math.ceil((1 + size(args, 0)) * perCharacter) * Math.ceil(size(args, 1) * perPatternCharacter);

const comparison: CostOfArguments = (args) => Math.ceil(Math.min(size(args, 0), size(args, 1)) * perCharacter);

const addition: CostOfArguments = (args) => Math.ceil((size(args, 0) + size(args, 1)) * perCharacter);

/** What turns out to be no list is refused by the call itself. */
function asList(value: CelValue | undefined): ListValue {
  const isList = typeof value === "object" && value !== null && "kind" in value && value.kind === "list";
  return isList ? value : listOf([]);
}

const isOpaque = (value: CelValue | undefined) =>
  typeof value === "object" && value !== null && "kind" in value && value.kind === "opaque";

const join: CostOfArguments = ([list, separator]) => {
  let length = 0;
  const elements = asList(list);
  for (const element of elementsOf(elements)) length += typeof element === "string" ? codePointCount(element) : 1;
  if (typeof separator === "string") length += codePointCount(separator) * Math.max(0, elements.size - 1);
  return Math.ceil(length * 2 * perCharacter);
};

/** Parsing a selector makes a requirement of about each second character. */
const selector: CostOfArguments = (args) => {
  const length = size(args, 1);
  const requirements = Math.ceil(length * 0.5);
  return (
    baseCosts.listCreate +
    Math.ceil(length * perCharacter) +
    Math.ceil(requirements * (baseCosts.listCreate + baseCosts.structCreate))
  );
};

function containment(ofCidr: boolean, isString: boolean): CostOfArguments {
  return (args) => {
    const cidr = size(args, 0);
    let cost = Math.ceil(2 * cidr * perCharacter);
    if (ofCidr) cost += Math.ceil(cidr * perCharacter) + 1;
    if (isString) cost += Math.ceil(size(args, 1) * perCharacter);
    return cost;
  };
}

const formatValidation: CostOfArguments = (args) => {
  const [format] = args;
  const pattern = isOpaque(format) ? (format as { patternLength?: number }).patternLength : undefined;
  if (pattern === undefined) return 1;
  return Math.ceil((1 + size(args, 1)) * perCharacter) * Math.ceil(pattern * perPatternCharacter);
};

function named(names: string, cost: CallCost): [string, CallCost][] {
  return names.split(" ").map((name) => [name, cost]);
}

/** Kubernetes' own, by the name of the function. */
const byName: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ["check", authorizationCheck],
  ...named("fieldSelector labelSelector", selector),
  ...named("isSorted sum max min indexOf lastIndexOf includes", (args) => deepTraversal(args[0] ?? null)),
  ...named("url lowerAscii upperAscii substring trim jsonpatch.escapeKey", traversal),
  ...named("cidr isIP isCIDR quantity isQuantity semver isSemver ip", traversal),
  ...named("replace split ip.isCanonical", twoTraversals),
  ["join", join],
  ...named("find findAll", patternSearch),
  ["validate", formatValidation],
  ["_==_", (args) => (isOpaque(args[0]) ? 1 : comparison(args))],
]);

function allocation(factor: number, length: number): number {
  return Math.floor(length * factor) + 1 + baseCosts.listCreate;
}

/** Sorting and looking for duplicates are counted as comparing each element with each. */
function selfComparison(list: CelValue | undefined): number {
  const elements = asList(list);
  const first = elements.at(0);
  const factor = typeof first === "string" || first instanceof Uint8Array ? 2 + perCharacter : 2;
  return allocation(factor, elements.size * elements.size);
}

function wholeNumber(value: CelValue | undefined): number {
  return value !== undefined && isInt(value) ? Math.max(0, Number(value)) : 0;
}

function setCost(factor: number): CostOfArguments {
  return (args) => 1 + Math.floor(size(args, 0) * size(args, 1) * factor);
}

const comparable = "int uint double bool google.protobuf.Duration google.protobuf.Timestamp string bytes".split(" ");

const byOverload: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ["cidr_ip", 1],
  ["cidr_contains_ip_ip", containment(false, false)],
  ["cidr_contains_ip_string", containment(false, true)],
  ["cidr_contains_cidr", containment(true, false)],
  ["cidr_contains_cidr_string", containment(true, true)],
  ["list_sets_contains_list", setCost(1)],
  ["list_sets_intersects_list", setCost(1)],
  ["list_sets_equivalent_list", setCost(2)],
  ["list_slice", ([, start, end]) => allocation(1, Math.max(0, wholeNumber(end) - wholeNumber(start)))],
  ["list_flatten", (args) => allocation(1, size(args, 0))],
  ["list_flatten_int", (args) => allocation(wholeNumber(args[1]), size(args, 0))],
  ["lists_range", ([length]) => allocation(1, wholeNumber(length))],
  ["list_reverse", (args) => allocation(1, size(args, 0))],
  ["list_distinct", ([list]) => selfComparison(list)],
  ...comparable.flatMap((type): [string, CallCost][] => [
    [`list_${type}_sort`, ([list]) => selfComparison(list)],
    [`list_${type}_sortByAssociatedKeys`, ([, keys]) => selfComparison(keys)],
  ]),
]);

/** The language's own, by overload; what is in none of the tables costs 1. */
const languageCosts: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ...named(
    "starts_with_string ends_with_string string_to_bytes bytes_to_string strings_quote string_format",
    traversal,
  ),
  ["in_list", (args) => size(args, 1)],
  ...named("less_string greater_string less_equals_string greater_equals_string", comparison),
  ...named("less_bytes greater_bytes less_equals_bytes greater_equals_bytes equals not_equals", comparison),
  ...named("add_string add_bytes", addition),
  ["matches_string", patternSearch],
  ["contains_string", (args) => Math.ceil(size(args, 0) * perCharacter) * Math.ceil(size(args, 1) * perCharacter)],
]);
