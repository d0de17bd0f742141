// What a call can cost and how large its result can be. Follows cel-go's checker/cost.go and ext/, and
// apiserver/pkg/cel/library/cost.go.
import type { Expr } from "../ast.ts";
import { type CelType, isSameType } from "../types.ts";
import { isInt } from "../values/value.ts";
import type { SizeOf } from "./estimate.ts";
import { add, type Estimate, exactly, multiply, scale, unknown } from "./interval.ts";
import {
  authorizationCheck,
  baseCosts,
  longestFormatName,
  longestFormatPattern,
  perCharacter,
  perPatternCharacter,
} from "./units.ts";

export interface CallArgument {
  readonly expr: Expr;
  readonly path: readonly string[];
  readonly type: CelType;
  readonly size: Estimate | undefined;
}

export interface CallNode {
  readonly name: string;
  readonly overload: string;
  readonly target: CallArgument | undefined;
  readonly args: readonly CallArgument[];
}

export interface CallEstimate {
  readonly cost: Estimate;
  /** Of the result. */
  readonly size?: Estimate;
}

/** What the estimate of one function goes by. */
interface Operands extends CallNode {
  /** What it is called on, or its first argument. */
  readonly subject: Estimate;
  /** The size of an argument. */
  at(index: number): Estimate;
  readonly elementSize: Estimate | undefined;
}

type Rule = (call: Operands) => CallEstimate | undefined;

/** Without the cost of the arguments. */
export function estimateCall(call: CallNode, sizeOf: SizeOf): CallEstimate {
  const operands: Operands = {
    ...call,
    subject: (call.target ?? call.args[0])?.size ?? unknown,
    at: (index) => call.args[index]?.size ?? unknown,
    elementSize: call.target && elementSize(call.target, sizeOf),
  };
  const rule = byOverload.get(call.overload) ?? byName.get(call.name);
  return rule?.(operands) ?? languageRules.get(call.overload)?.(operands) ?? { cost: exactly(1) };
}

function elementSize(list: CallArgument, sizeOf: SizeOf): Estimate | undefined {
  const [element] = list.type.parameters;
  if (element === undefined) return undefined;
  return (list.path.length > 0 ? sizeOf([...list.path, "@items"]) : undefined) ?? unknown;
}

const fixed =
  (cost: number): Rule =>
  () => ({ cost: exactly(cost) });

const traversal: Rule = ({ at }) => ({ cost: scale(at(0), perCharacter) });
const traversalOfSame: Rule = ({ subject }) => ({ cost: scale(subject, perCharacter), size: subject });

const patternSearch: Rule = ({ subject, at }) => ({
  cost: multiply(scale(add(subject, exactly(1)), perCharacter), scale(at(0), perPatternCharacter)),
});

const isText = (type: CelType | undefined) => type?.kind === "string" || type?.kind === "bytes";

/** Functions that go through a list once. */
const listTraversal: Rule = ({ target, subject, elementSize, name }) => {
  if (target === undefined) return undefined;
  const [element] = target.type.parameters;
  if (element) {
    const text = isText(element) ? scale(elementSize ?? unknown, perCharacter) : exactly(0);
    return { cost: multiply(subject, add(exactly(1), text)) };
  }
  return { cost: name === "includes" ? subject : scale(subject, perCharacter) };
};

/** How many replacements there can be, and what stays of the text besides them. */
const replace: Rule = ({ target, subject, at }) => {
  if (target === undefined) return undefined;
  const [old, replacement] = [at(0), at(1)];
  let [most, kept] = [0, 0];
  if (old.min === 0) [most, kept] = [subject.max + 1, subject.max];
  else if (replacement.max <= old.min) kept = subject.max;
  else most = Math.ceil(subject.max / old.min);
  let [least, keptLeast] = [0, 0];
  if (old.max === 0) [least, keptLeast] = [subject.min + 1, subject.min];
  else if (old.max <= replacement.min) keptLeast = subject.min;
  else least = Math.ceil(subject.min / old.max);
  const size = add(multiply({ min: least, max: most }, replacement), { min: keptLeast, max: kept });
  return { cost: scale(subject, 2 * perCharacter), size };
};

const split: Rule = ({ subject, args }) => {
  const limit = args[1]?.expr;
  const max = limit?.kind === "literal" && isInt(limit.value) && limit.value >= 0 ? Number(limit.value) : subject.max;
  return { cost: scale(subject, 2 * perCharacter), size: { min: 0, max } };
};

const join: Rule = ({ subject, elementSize, args, at }) => {
  let size = elementSize ? multiply(subject, elementSize) : exactly(0);
  if (args.length > 0) {
    const separators = { min: Math.max(0, subject.min - 1), max: Math.max(0, subject.max - 1) };
    size = add(size, multiply(at(0), separators));
  }
  return { cost: scale(size, perCharacter), size };
};

const addressSize: Estimate = { min: 4, max: 16 };

const containment: Rule = ({ name, overload, at }) => {
  let cost = scale(add(addressSize, addressSize), perCharacter);
  if (name === "containsCIDR") cost = add(cost, scale(addressSize, perCharacter), exactly(1));
  if (overload.endsWith("_string")) cost = add(cost, scale(at(0), perCharacter));
  return { cost };
};

const selector: Rule = ({ at }) => {
  const length = at(0);
  const requirements = scale(scale(length, 0.5), baseCosts.listCreate + baseCosts.structCreate);
  return { cost: add(exactly(baseCosts.listCreate), scale(length, perCharacter), requirements) };
};

/** Values of Kubernetes' own types are compared at once, except for texts in disguise. */
const equality: Rule = ({ args }) => {
  const [left, right] = args;
  if (!left || !right || !isSameType(left.type, right.type)) return undefined;
  const { name } = left.type;
  if (constantEquality.has(name)) return { cost: exactly(1) };
  if (name === "kubernetes.NamedFormat") return { cost: scale({ min: 1, max: longestFormatName }, perCharacter) };
  if (name === "kubernetes.URL") return { cost: scale({ min: 1, max: right.size?.max ?? 1 }, perCharacter) };
  return undefined;
};

const constantEquality: ReadonlySet<string> = new Set([
  "net.IP",
  "net.CIDR",
  "kubernetes.Quantity",
  "kubernetes.Semver",
  "kubernetes.authorization.Authorizer",
  "kubernetes.authorization.PathCheck",
  "kubernetes.authorization.GroupCheck",
  "kubernetes.authorization.ResourceCheck",
  "kubernetes.authorization.Decision",
]);

function named(names: string, rule: Rule): [string, Rule][] {
  return names.split(" ").map((name) => [name, rule]);
}

const byName: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["check", fixed(authorizationCheck)],
  ...named("fieldSelector labelSelector", selector),
  ...named("isSorted sum max min indexOf lastIndexOf includes", listTraversal),
  ...named("url jsonpatch.escapeKey lowerAscii upperAscii substring trim", traversalOfSame),
  ["replace", replace],
  ["split", split],
  ["join", join],
  ...named("find findAll", (call: Operands) => {
    const estimate = patternSearch(call);
    return estimate && { ...estimate, size: { min: 0, max: call.subject.max } };
  }),
  ...named("cidr isIP isCIDR ip quantity isQuantity semver isSemver", traversal),
  ["ip.isCanonical", ({ at }) => ({ cost: scale(at(0), 2 * perCharacter) })],
  ...named("containsIP containsCIDR", containment),
  ["validate", ({ at }) => ({ cost: scale(scale(at(0), perCharacter), longestFormatPattern * perPatternCharacter) })],
  ["_==_", equality],
]);

function allocation(factor: number, size: Estimate): CallEstimate {
  return { cost: add(scale(size, factor), exactly(1 + baseCosts.listCreate)), size };
}

/** The number an argument is, if it is a literal. */
function literalNumber(argument: CallArgument | undefined, otherwise: number): number {
  const expr = argument?.expr;
  if (expr?.kind !== "literal" || !isInt(expr.value)) return otherwise;
  return Math.max(0, Number(expr.value));
}

function sorting(type: string, keysAt?: number): Rule {
  const factor = type === "string" || type === "bytes" ? 2 + perCharacter : 2;
  return ({ subject, at }) => {
    const size = keysAt === undefined ? subject : at(keysAt);
    return allocation(factor, multiply(size, size));
  };
}

function sets(factor: number): Rule {
  return ({ at }) => ({ cost: add(scale(multiply(at(0), at(1)), factor), exactly(1)) });
}

const comparable = "int uint double bool google.protobuf.Duration google.protobuf.Timestamp string bytes".split(" ");

const byOverload: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["cidr_ip", fixed(1)],
  ["list_sets_contains_list", sets(1)],
  ["list_sets_intersects_list", sets(1)],
  ["list_sets_equivalent_list", sets(2)],
  [
    "list_slice",
    ({ subject, args }) => {
      const length = literalNumber(args[1], subject.max) - literalNumber(args[0], 0);
      return allocation(1, exactly(length < 0 ? Number.POSITIVE_INFINITY : length));
    },
  ],
  ["list_flatten", ({ subject }) => allocation(1, subject)],
  [
    "list_flatten_int",
    ({ subject, args }) => ({
      ...allocation(literalNumber(args[0], Number.POSITIVE_INFINITY), subject),
      size: subject,
    }),
  ],
  ["lists_range", ({ args }) => allocation(1, exactly(literalNumber(args[0], Number.POSITIVE_INFINITY)))],
  ["list_reverse", ({ subject }) => allocation(1, subject)],
  ["list_distinct", ({ subject }) => allocation(2, multiply(subject, subject))],
  ...comparable.flatMap((type): [string, Rule][] => [
    [`list_${type}_sort`, sorting(type)],
    [`list_${type}_sortByAssociatedKeys`, sorting(type, 0)],
  ]),
]);

const comparison: Rule = ({ at }) => {
  const max = Math.min(at(0).max, at(1).max);
  return { cost: scale({ min: max > 0 ? 1 : 0, max }, perCharacter) };
};

const concatenation: Rule = ({ at }) => {
  const size = add(at(0), at(1));
  return { cost: scale(size, perCharacter), size };
};

const languageRules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["string_format", ({ subject }) => ({ cost: scale(subject, perCharacter) })],
  ["string_to_bytes", ({ at }) => ({ cost: scale(at(0), perCharacter), size: { min: at(0).min, max: at(0).max * 4 } })],
  [
    "bytes_to_string",
    ({ at }) => ({ cost: scale(at(0), perCharacter), size: { min: Math.floor(at(0).min / 4), max: at(0).max } }),
  ],
  [
    "strings_quote",
    ({ at }) => ({ cost: scale(at(0), perCharacter), size: { min: at(0).min + 2, max: at(0).max * 2 + 2 } }),
  ],
  ...named("starts_with_string ends_with_string", traversal),
  ["in_list", ({ at }) => ({ cost: at(1) })],
  ["matches_string", patternSearch],
  [
    "contains_string",
    ({ subject, at }) => ({ cost: multiply(scale(subject, perCharacter), scale(at(0), perCharacter)) }),
  ],
  ["add_list", ({ at }) => ({ cost: exactly(1), size: add(at(0), at(1)) })],
  ...named("add_string add_bytes", concatenation),
  ...named("less_string greater_string less_equals_string greater_equals_string", comparison),
  ...named("less_bytes greater_bytes less_equals_bytes greater_equals_bytes equals not_equals", comparison),
]);
