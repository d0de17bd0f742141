// Which labels are wanted: requirements, all of which must be met. They are written as text (`app=web,tier in (a,b)`)
// or as the API's LabelSelector struct; both become requirements, and requirements become one function.
import { labelValue, qualifiedName } from "./formats.ts";
import { forbidden, invalid, notSupported, type Problem, problemText, required } from "./problem.ts";
import { parseRequirements, type Requirement, SelectorError, type SelectorOperator } from "./selector-text.ts";

export { type Requirement, SelectorError, type SelectorOperator };

export type Labels = Readonly<Record<string, string>>;

/** The API's LabelSelector. */
export interface SelectorStruct {
  readonly matchLabels?: Labels | undefined;
  readonly matchExpressions?: readonly SelectorExpression[] | undefined;
}
export interface SelectorExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

/** Reads the text form, which must be valid, into requirements sorted by key. Throws SelectorError. */
export const parseSelector = (text: string): readonly Requirement[] =>
  parseRequirements(text, makeRequirement).sort(byKey);

/** The text form. Of no requirements, which select everything, the empty text. */
export const formatRequirements = (requirements: readonly Requirement[]): string =>
  requirements.map(formatRequirement).join(",");

/** The requirements of a struct, by key. Throws SelectorError for what has no meaning. */
export function requirementsOf(selector: SelectorStruct): readonly Requirement[] {
  const labels = Object.entries(selector.matchLabels ?? {});
  return [
    ...labels.map(([key, value]) => makeRequirement(key, "=", [value])),
    ...(selector.matchExpressions ?? []).map(({ key, operator, values }) => {
      const known = textOperators.get(operator);
      if (known === undefined)
        throw new SelectorError(`${JSON.stringify(operator)} is not a valid label selector operator`);
      return makeRequirement(key, known, values ?? []);
    }),
  ].sort(byKey);
}

/** The requirements of plain labels, taken as they are: what was stored need not be checked again. */
export const requirementsOfLabels = (labels: Labels): readonly Requirement[] =>
  Object.entries(labels)
    .map(([key, value]): Requirement => ({ key, operator: "=", values: [value] }))
    .sort(byKey);

/** The struct that says the same. Throws SelectorError for what a struct cannot say. */
export function selectorStructOf(requirements: readonly Requirement[]): SelectorStruct {
  const matchLabels: [string, string][] = [];
  const matchExpressions: SelectorExpression[] = [];
  for (const { key, operator, values } of requirements) {
    const name = structOperators.get(operator);
    if (operator === "=" || operator === "==") matchLabels.push([key, values[0] ?? ""]);
    else if (name === undefined)
      throw new SelectorError(`${JSON.stringify(operator)} isn't supported in label selectors`);
    else matchExpressions.push({ key, operator: name, values });
  }
  return { matchLabels: Object.fromEntries(matchLabels), matchExpressions };
}

/** A function that says whether labels meet all requirements. */
export function labelMatcher(requirements: readonly Requirement[]): (labels: Labels | undefined) => boolean {
  const tests = requirements.map(compile);
  const [first] = tests;
  if (first === undefined) return () => true;
  if (tests.length === 1) return (labels) => first(labels ?? none);
  return (labels = none) => tests.every((test) => test(labels));
}

/** The same of a struct: an empty one selects everything, none at all nothing. Throws SelectorError. */
export const selectorMatcher = (selector: SelectorStruct | undefined): ((labels: Labels | undefined) => boolean) =>
  selector === undefined ? () => false : labelMatcher(requirementsOf(selector));

/** For a cell of a table: `app=web,!old`, `<none>` or `<error>`. */
export function formatSelector(selector: SelectorStruct | undefined): string {
  try {
    return formatRequirements(requirementsOf(selector ?? {})) || "<none>";
  } catch (error) {
    if (error instanceof SelectorError) return "<error>";
    throw error;
  }
}

/** The one value the label must have, if the requirements leave only one. An index can then answer. */
export function exactValue(requirements: readonly Requirement[], key: string): string | undefined {
  const found = requirements.find((one) => one.key === key);
  return found !== undefined && isEquality.has(found.operator) && found.values.length === 1
    ? found.values[0]
    : undefined;
}

/** Problems of a struct, below `path` if it is not empty. Objects stored before values were checked may keep `oddValues`. */
export function* selectorProblems(selector: SelectorStruct, path: string, oddValues = false): Generator<Problem> {
  const prefix = path === "" ? "" : `${path}.`;
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    for (const message of qualifiedName(key)) yield invalid(`${prefix}matchLabels`, message, key);
    for (const message of labelValue(value)) yield invalid(`${prefix}matchLabels`, message, value);
  }
  for (const [index, expression] of (selector.matchExpressions ?? []).entries())
    yield* expressionProblems(expression, `${prefix}matchExpressions[${index}]`, oddValues);
}

function* expressionProblems(expression: SelectorExpression, path: string, oddValues: boolean): Generator<Problem> {
  const { key, operator, values = [] } = expression;
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) yield required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0)
      yield forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else yield invalid(`${path}.operator`, "not a valid selector operator", operator);
  for (const message of qualifiedName(key)) yield invalid(`${path}.key`, message, key);
  if (oddValues) return;
  for (const [index, value] of values.entries())
    for (const message of labelValue(value)) yield invalid(`${path}.values[${index}]`, message, value);
}

const none: Labels = {};
const isEquality: ReadonlySet<SelectorOperator> = new Set(["=", "==", "in"]);
const textOperators: ReadonlyMap<string, SelectorOperator> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
]);
const structOperators = new Map([...textOperators].map(([name, operator]) => [operator, name]));
const operators: readonly SelectorOperator[] = ["in", "notin", "=", "==", "!=", "gt", "lt", "exists", "!"];
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byKey = (a: Requirement, b: Requirement): number => compare(a.key, b.key);

/** A requirement that makes sense. Throws SelectorError naming all that does not. */
export function makeRequirement(key: string, operator: SelectorOperator, values: readonly string[]): Requirement {
  const problems = [...requirementProblems(key, operator, values)].map(problemText);
  if (problems.length === 1) throw new SelectorError(problems[0]);
  if (problems.length > 1) throw new SelectorError(`[${problems.join(", ")}]`);
  return { key, operator, values };
}

function* requirementProblems(key: string, operator: SelectorOperator, values: readonly string[]): Generator<Problem> {
  const wrongKey = qualifiedName(key);
  if (wrongKey.length > 0) yield invalid("key", wrongKey.join("; "), key);
  switch (operator) {
    case "in":
    case "notin":
      if (values.length === 0)
        yield invalid("values", "for 'in', 'notin' operators, values set can't be empty", values);
      break;
    case "=":
    case "==":
    case "!=":
      if (values.length !== 1) yield invalid("values", "exact-match compatibility requires one single value", values);
      break;
    case "exists":
    case "!":
      if (values.length !== 0)
        yield invalid("values", "values set must be empty for exists and does not exist", values);
      break;
    case "gt":
    case "lt":
      if (values.length !== 1)
        yield invalid("values", "for 'Gt', 'Lt' operators, exactly one value is required", values);
      for (const [index, value] of values.entries())
        if (integerOf(value) === undefined)
          yield invalid(`values[${index}]`, "for 'Gt', 'Lt' operators, the value must be an integer", value);
      break;
    default:
      yield notSupported("operator", operators, operator);
  }
  for (const [index, value] of values.entries()) {
    const wrong = labelValue(value);
    if (wrong.length > 0) yield invalid(`values[${index}][${key}]`, wrong.join("; "), value);
  }
}

function compile({ key, operator, values }: Requirement): (labels: Labels) => boolean {
  const [only] = values;
  const wanted = new Set(values);
  const limit = only === undefined ? undefined : integerOf(only);
  switch (operator) {
    case "=":
    case "==":
    case "in":
      return values.length === 1
        ? (labels) => Object.hasOwn(labels, key) && labels[key] === only
        : (labels) => Object.hasOwn(labels, key) && wanted.has(labels[key] ?? "");
    case "!=":
    case "notin":
      return (labels) => !Object.hasOwn(labels, key) || !wanted.has(labels[key] ?? "");
    case "exists":
      return (labels) => Object.hasOwn(labels, key);
    case "!":
      return (labels) => !Object.hasOwn(labels, key);
    case "gt":
    case "lt":
      return (labels) => {
        const value = Object.hasOwn(labels, key) ? integerOf(labels[key] ?? "") : undefined;
        if (value === undefined || limit === undefined) return false;
        return operator === "gt" ? value > limit : value < limit;
      };
  }
}

/** A whole number of 64 bits. */
function integerOf(text: string): bigint | undefined {
  if (text.length > 63 || !/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ""));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

function formatRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return `${key} ${operator} (${values.toSorted(compare).join(",")})`;
    default:
      return `${key}${operator === "gt" ? ">" : operator === "lt" ? "<" : operator}${values.toSorted(compare).join(",")}`;
  }
}
