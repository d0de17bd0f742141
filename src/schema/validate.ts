// Finding all that is wrong with an object. Each struct is compiled once into a list of the fields that have something
// to check. Nothing is built while all is well: a problem is born with a path relative to its struct, and each level on
// the way out puts its own part in front.
import { equal, own } from "#base/collections.ts";
import { asksForOld, itemFinder } from "./correlate.ts";
import type { FieldSpec, Type } from "./field.ts";
import { byteLength, rangeMessage } from "./formats.ts";
import type { AnyKind } from "./kind.ts";
import type { WarnOfProblem } from "./model.ts";
import { invalid, mostProblems, notSupported, type Problem, required, tooFew, tooLong, tooMany } from "./problem.ts";
import { inOrderOf } from "./problem-order.ts";
import { sentEmpty } from "./sent-empty.ts";
import type { AnyStruct } from "./struct.ts";
import { validateMetadata, type WithMetadata } from "./validate-metadata.ts";

type Values = Readonly<Record<string, any>>;
/** `old` is the same place of the stored object; `updating` tells an absent one from a create. */
type Validator = (value: any, old: any, updating: boolean, problems: Problem[]) => void;

/**
 * The problems of a defaulted object, none if it may be stored. With `old`, of the update from old to it. Once there are
 * `mostProblems`, the search ends: nobody reads more, and finding and printing all of a large object takes seconds.
 */
export function validateObject(
  subject: AnyKind | AnyStruct,
  object: Values,
  old?: Values,
  warn?: WarnOfProblem,
): Problem[] {
  const problems: Problem[] = [];
  if (!("model" in subject)) {
    validateStruct(subject, object, old, problems);
    return problems;
  }
  // Kinds that are not stored, like access reviews, need no name.
  if (subject.stored !== false) addMetadataProblems(subject, object, old, problems);
  subject.model.validate(object, old, problems, warn);
  return problems;
}

function addMetadataProblems(kind: AnyKind, object: Values, old: Values | undefined, problems: Problem[]): void {
  const add = () =>
    at("metadata", problems, () => validateMetadata(kind, object as WithMetadata, old?.metadata, problems));
  add();
  // Upstream validates the update of a custom resource twice, and reports both results.
  if (old && problems.length > 0 && kind.model.publication.isUnstructured) add();
}

/** Adds the problems of an object of a struct. */
export function validateStruct(struct: AnyStruct, object: Values, old: Values | undefined, problems: Problem[]): void {
  structValidator(struct)?.(object, old, old !== undefined, problems);
}

/** Every problem of an update through the status subresource. */
export function validateStatus(kind: AnyKind, object: Values, old: Values, warn?: WarnOfProblem): Problem[] {
  const problems: Problem[] = [];
  at("metadata", problems, () => validateMetadata(kind, object as WithMetadata, old.metadata, problems));
  kind.model.validateStatus(object, old, problems, warn);
  if (kind.checkStatus) collect(object, kind.checkStatus(object as never, old as never), problems);
  return problems;
}

/** Adds the problems of the status of an object of a struct. */
export function validateStatusField(struct: AnyStruct, object: Values, old: Values, problems: Problem[]): void {
  const field = struct.fields.status as { spec: FieldSpec } | undefined;
  if (field) at("status", problems, () => fieldValidator(field.spec)?.(object.status, old.status, true, problems));
}

const compiled = new WeakMap<AnyStruct, Validator | undefined>();

function structValidator(struct: AnyStruct): Validator | undefined {
  if (compiled.has(struct)) return compiled.get(struct);
  compiled.set(struct, (value, old, updating, problems) => compiled.get(struct)?.(value, old, updating, problems));
  const validator = compile(struct);
  compiled.set(struct, validator);
  return validator;
}

interface CheckedField {
  readonly name: string;
  /** The place in which the field is declared. */
  readonly order: number;
  readonly check: Validator;
  readonly evenAbsent: boolean;
}

function compile(struct: AnyStruct): Validator | undefined {
  const fields = Object.entries(struct.fields as Record<string, { spec: FieldSpec }>).flatMap(
    ([name, { spec }], order): readonly CheckedField[] => {
      const check = fieldValidator(spec);
      return check ? [{ name, order, check, evenAbsent: isCheckedEvenAbsent(spec) }] : [];
    },
  );
  const { check, checkedAs, consequences } = struct;
  if (fields.length === 0 && !check) return undefined;
  const byName = new Map(fields.map((field) => [field.name, field]));
  const evenAbsent = fields.filter((field) => field.evenAbsent);
  return (given: Values, old: Values | undefined, updating, problems) => {
    const value = checkedAs ? (checkedAs.call(struct, given as never) as Values) : given;
    const start = problems.length;
    let findings: Findings | undefined; // there are none in most structs
    let missing = evenAbsent.length;
    // Most fields of most structs are absent, and to ask for them takes longer than to check those that are there.
    for (const name in value) {
      const field = byName.get(name);
      if (field === undefined) continue;
      const present = value[name];
      if (present === undefined) continue;
      if (field.evenAbsent) missing--;
      field.check(present, old?.[name], updating && old !== undefined, problems);
      if (problems.length > (findings?.end ?? start))
        findings = taken(findings ?? new Findings(value, problems, start), field);
    }
    if (missing > 0)
      for (const field of evenAbsent) {
        if (value[field.name] !== undefined) continue;
        field.check(undefined, old?.[field.name], updating && old !== undefined, problems);
        if (problems.length > (findings?.end ?? start))
          findings = taken(findings ?? new Findings(value, problems, start), field);
      }
    findings?.sort();
    if (check) collect(value, check.call(struct, value as never, old as never), problems);
    if (problems.length === start) return;
    if (consequences) collect(value, consequences.call(struct, value as never, problems.slice(start)), problems);
    if (struct.problemOrder) problems.push(...problems.splice(start).sort(inOrderOf(struct)));
  };
}

/** The problems of a struct's fields. They are reported in the order in which fields are declared, whatever the order in which they were sent. */
class Findings {
  readonly #value: Values;
  readonly #problems: Problem[];
  readonly #start: number;
  #fields: { readonly order: number; readonly problems: readonly Problem[] }[] | undefined;
  /** How many problems have been taken. */
  end: number;

  constructor(value: Values, problems: Problem[], start: number) {
    this.#value = value;
    this.#problems = problems;
    this.#start = start;
    this.end = start;
  }

  /** The problems that have come since the last call are of this field. */
  take({ name, order }: CheckedField): void {
    this.#showSent(name);
    prefix(name, this.#problems, this.end);
    this.#fields ??= [];
    this.#fields.push({ order, problems: this.#problems.slice(this.end) });
    this.end = this.#problems.length;
  }

  /** A field that was sent empty is shown as it was sent. */
  #showSent(name: string): void {
    const sent = sentEmpty(this.#value, name);
    if (sent === undefined) return;
    for (const problem of this.#problems.slice(this.end))
      if (problem.field === "" && problem.value === null) problem.value = sent;
  }

  sort(): void {
    if (this.#fields === undefined || this.#fields.length < 2) return;
    this.#problems.length = this.#start;
    for (const { problems } of this.#fields.sort((a, b) => a.order - b.order))
      for (const problem of problems) this.#problems.push(problem);
  }
}

/** The findings with those of one more field. */
function taken(findings: Findings, field: CheckedField): Findings {
  findings.take(field);
  return findings;
}

const mustExist = ({ nonEmpty, required, pointer, mayBeMissing }: FieldSpec): boolean =>
  !mayBeMissing && (nonEmpty || (required && pointer) || false);
const isCheckedEvenAbsent = (spec: FieldSpec): boolean => spec.immutable !== undefined || mustExist(spec);

function fieldValidator(spec: FieldSpec): Validator | undefined {
  const own = ownRules(spec);
  const inner = spec.unchecked ? undefined : typeValidator(spec.type, spec.listType === "map" ? spec.keys : undefined);
  if (spec.onlyOnCreate)
    return (value, _old, updating, problems) => {
      if (!updating) inner?.(value, undefined, false, problems);
    };
  if (own.length === 0 && !isCheckedEvenAbsent(spec)) return inner;
  const { immutable, nonEmpty, whenMissing } = spec;
  const isNeeded = mustExist(spec);
  return (value, old, updating, problems) => {
    if (immutable && updating && !equal(value, old))
      problems.push({ ...held(invalid("", "field is immutable", value ?? null)), isLast: immutable === "last" });
    if (value === undefined) {
      if (isNeeded) problems.push(required("", whenMissing));
      return;
    }
    if (nonEmpty && isEmpty(value)) {
      problems.push(required("", whenMissing));
      return;
    }
    for (const rule of own) rule(value, problems);
    inner?.(value, old, updating, problems);
  };
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === "";
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}

/** With the keys by which items of the list are known. */
function typeValidator(type: Type, keys?: readonly string[]): Validator | undefined {
  switch (type.is) {
    case "struct":
      return structValidator(type.struct());
    case "list": {
      const item = typeValidator(type.item);
      if (!item) return undefined;
      const isCorrelated = keys !== undefined && asksForOld(type.item);
      return (items: readonly unknown[], old: readonly unknown[] | undefined, _updating, problems) => {
        const find = isCorrelated && old ? itemFinder(old, keys) : undefined;
        for (let i = 0; i < items.length && problems.length < mostProblems; i++) {
          const start = problems.length;
          const before = find?.(items[i]);
          item(items[i], before, before !== undefined, problems);
          if (problems.length > start) prefix(`[${i}]`, problems, start);
        }
      };
    }
    case "map": {
      const value = typeValidator(type.value);
      if (!value) return undefined;
      const isCorrelated = asksForOld(type.value);
      return (entries: Values, old: Values | undefined, _updating, problems) => {
        for (const key of Object.keys(entries)) {
          if (problems.length >= mostProblems) return;
          const before = isCorrelated && old ? own(old, key) : undefined;
          at(`[${key}]`, problems, () => value(entries[key], before, before !== undefined, problems));
        }
      };
    }
    default:
      return undefined;
  }
}

type Rule = (value: any, problems: Problem[]) => void;

/** The rules that a field declares about its own value. */
function ownRules(spec: FieldSpec): readonly Rule[] {
  const rules: Rule[] = [];
  const { min, max, maxLength, minItems, maxItems, formats } = spec;
  if (min !== undefined || max !== undefined) {
    const message = boundsMessage(min, max);
    rules.push((value, problems) => {
      if (typeof value === "number" && ((min !== undefined && value < min) || (max !== undefined && value > max)))
        problems.push(invalid("", message, value));
    });
  }
  if (maxLength !== undefined)
    rules.push((value, problems) => {
      if (typeof value === "string" && byteLength(value) > maxLength) problems.push(tooLong("", maxLength));
    });
  if (maxItems !== undefined)
    rules.push((value, problems) => {
      const count = Object.keys(value).length;
      if (count > maxItems) problems.push(tooMany("", count, maxItems));
    });
  if (minItems !== undefined)
    rules.push((value, problems) => {
      const count = Object.keys(value).length;
      if (count < minItems) problems.push(tooFew("", count, minItems));
    });
  if (spec.enum && !spec.enumOpen) rules.push(forStrings(enumRule(spec.enum, spec.pointer === true)));
  if (formats)
    rules.push(
      forStrings((value, field, problems) => {
        if (value === "") return;
        for (const format of formats)
          for (const message of format(value)) problems.push(invalid(field, message, value));
      }),
    );
  return rules;
}

type StringRule = (value: string, field: string, problems: Problem[]) => void;

/** Of a list or a map, the rule holds for each item. */
const forStrings =
  (rule: StringRule): Rule =>
  (value, problems) => {
    if (typeof value === "string") rule(value, "", problems);
    else
      for (const key of Object.keys(value)) {
        if (problems.length >= mostProblems) return;
        rule(value[key], `[${key}]`, problems);
      }
  };

/** Nothing is the same as absent, but not behind a pointer, and not as an item. */
function enumRule(values: readonly string[], isPointer: boolean): StringRule {
  const known = new Set(values);
  return (value, field, problems) => {
    if (known.has(value) || (value === "" && !isPointer && field === "")) return;
    problems.push(notSupported(field, values, value));
  };
}

function boundsMessage(min: number | undefined, max: number | undefined): string {
  if (max === undefined) return `must be greater than or equal to ${min}`;
  return min === undefined ? `must be less than or equal to ${max}` : rangeMessage(min, max);
}

/** What upstream shows of a struct is not what clients send; scalars look the same. */
const held = (problem: Problem): Problem =>
  typeof problem.value === "object" && problem.value !== null ? { ...problem, isHeld: true } : problem;

/** What a check yields, for callers that run one by itself. */
export function problemsOf(value: Values, found: Iterable<Problem>): Problem[] {
  const problems: Problem[] = [];
  collect(value, found, problems);
  return problems;
}

/** Takes in what a check yields, reading the refused value from the object where the check did not give it. */
function collect(value: Values, found: Iterable<Problem>, problems: Problem[]): void {
  for (const problem of found) {
    problems.push(problem.value === undefined ? held({ ...problem, value: sentAt(value, problem.field) }) : problem);
    if (problems.length >= mostProblems) return;
  }
}

/** The value at a path as it was sent: a list or a map may have been dropped because it was empty. */
function sentAt(root: unknown, path: string): unknown {
  const value = valueAt(root, path);
  const field = value === undefined ? /[^.[\]]+$/.exec(path) : null;
  if (field === null) return value;
  return sentEmpty(valueAt(root, path.slice(0, Math.max(0, field.index - 1))), field[0]);
}

/** Runs `find` and puts `name` before the path of every problem it adds. */
function at(name: string, problems: Problem[], find: () => void): void {
  const start = problems.length;
  find();
  if (problems.length > start) prefix(name, problems, start);
}

function prefix(name: string, problems: Problem[], start: number): void {
  for (let i = start; i < problems.length; i++) {
    const problem = problems[i] as Problem;
    const { field } = problem;
    problem.field = field === "" ? name : field.startsWith("[") ? name + field : `${name}.${field}`;
  }
}

/** The value at a path such as `spec.containers[0].name` or `data[my.key]`; undefined where the path leads nowhere. */
export function valueAt(root: unknown, path: string): unknown {
  let value = root;
  for (const match of path.matchAll(/\[([^\]]*)\]|[^.[]+/g)) {
    const key = match[1] ?? match[0];
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Values)[key];
  }
  return value;
}
