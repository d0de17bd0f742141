// Finding all that is wrong with an object. Each struct is compiled once into a list of the fields that have something
// to check. Nothing is built while all is well: a problem is born with a path relative to its struct, and each level on
// the way out puts its own part in front.
import { equal } from "#base/collections.ts";
import type { FieldSpec, Type } from "./field.ts";
import { byteLength, rangeMessage } from "./formats.ts";
import type { AnyKind } from "./kind.ts";
import { invalid, notSupported, type Problem, required, tooFew, tooLong, tooMany } from "./problem.ts";
import { type AnyStruct, structOf } from "./struct.ts";
import { validateMetadata } from "./validate-metadata.ts";

type Values = Readonly<Record<string, any>>;
/** `old` is the same place of the stored object; `updating` tells an absent one from a create. */
type Validator = (value: any, old: any, updating: boolean, problems: Problem[]) => void;

/** Every problem of a defaulted object, none if it may be stored. With `old`, of the update from old to it. */
export function validateObject(subject: AnyKind | AnyStruct, object: Values, old?: Values): Problem[] {
  const problems: Problem[] = [];
  // What is only asked and answered, like an access review, needs no name.
  if ("struct" in subject && subject.stored !== false)
    at("metadata", problems, () => validateMetadata(subject, object.metadata, old?.metadata, problems));
  structValidator(structOf(subject))?.(object, old, old !== undefined, problems);
  return problems;
}

/** Every problem of an update through the status subresource. */
export function validateStatus(kind: AnyKind, object: Values, old: Values): Problem[] {
  const problems: Problem[] = [];
  at("metadata", problems, () => validateMetadata(kind, object.metadata, old.metadata, problems));
  const field = kind.struct.fields.status as { spec: FieldSpec } | undefined;
  if (field) at("status", problems, () => fieldValidator(field.spec)?.(object.status, old.status, true, problems));
  if (kind.checkStatus) collect(object, kind.checkStatus(object as never, old as never), problems);
  return problems;
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
  readonly check: Validator;
  readonly evenAbsent: boolean;
}

function compile(struct: AnyStruct): Validator | undefined {
  const fields = Object.entries(struct.fields as Record<string, { spec: FieldSpec }>).flatMap(
    ([name, { spec }]): readonly CheckedField[] => {
      const check = fieldValidator(spec);
      return check ? [{ name, check, evenAbsent: isCheckedEvenAbsent(spec) }] : [];
    },
  );
  const { check, checkedAs } = struct;
  if (fields.length === 0 && !check) return undefined;
  const byName = new Map(fields.map((field) => [field.name, field]));
  const evenAbsent = fields.filter((field) => field.evenAbsent);
  return (given: Values, old: Values | undefined, updating, problems) => {
    const value = checkedAs ? (checkedAs.call(struct, given as never) as Values) : given;
    const start = problems.length;
    let missing = evenAbsent.length;
    // Most fields of most structs are absent, and to ask for them takes longer than to check those that are there.
    for (const name in value) {
      const field = byName.get(name);
      if (field === undefined) continue;
      const present = value[name];
      if (present === undefined) continue;
      if (field.evenAbsent) missing--;
      field.check(present, old?.[name], updating && old !== undefined, problems);
    }
    if (missing > 0 && problems.length === start) checkInOrder(evenAbsent, value, old, updating, problems);
    if (problems.length > start) {
      problems.length = start;
      checkInOrder(fields, value, old, updating, problems);
    }
    if (check) collect(value, check.call(struct, value as never, old as never), problems);
  };
}

/** Problems are told in the order in which fields are declared, whatever the order in which they were sent. */
function checkInOrder(
  fields: readonly CheckedField[],
  value: Values,
  old: Values | undefined,
  updating: boolean,
  problems: Problem[],
): void {
  for (const { name, check, evenAbsent } of fields) {
    const present = value[name];
    if (present === undefined && !evenAbsent) continue;
    const start = problems.length;
    check(present, old?.[name], updating && old !== undefined, problems);
    if (problems.length > start) prefix(name, problems, start);
  }
}

const mustExist = ({ nonEmpty, required, pointer }: FieldSpec): boolean => nonEmpty || (required && pointer) || false;
const isCheckedEvenAbsent = (spec: FieldSpec): boolean => spec.immutable || mustExist(spec);

function fieldValidator(spec: FieldSpec): Validator | undefined {
  const own = ownRules(spec);
  const inner = typeValidator(spec.type);
  if (own.length === 0 && !isCheckedEvenAbsent(spec)) return inner;
  const { immutable, nonEmpty, whenMissing } = spec;
  const isNeeded = mustExist(spec);
  return (value, old, updating, problems) => {
    if (immutable && updating && !equal(value, old)) problems.push(invalid("", "field is immutable", value ?? null));
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

function typeValidator(type: Type): Validator | undefined {
  switch (type.is) {
    case "struct":
      return structValidator(type.struct());
    case "list": {
      const item = typeValidator(type.item);
      if (!item) return undefined;
      return (items: readonly unknown[], _old, _updating, problems) => {
        for (let i = 0; i < items.length; i++) {
          const start = problems.length;
          item(items[i], undefined, false, problems);
          if (problems.length > start) prefix(`[${i}]`, problems, start);
        }
      };
    }
    case "map": {
      const value = typeValidator(type.value);
      if (!value) return undefined;
      return (entries: Values, _old, _updating, problems) => {
        for (const key of Object.keys(entries))
          at(`[${key}]`, problems, () => value(entries[key], undefined, false, problems));
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
  if (spec.enum && !spec.enumOpen) rules.push(forStrings(enumRule(spec.enum)));
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
    else for (const [key, item] of Object.entries<any>(value)) rule(item, `[${key}]`, problems);
  };

function enumRule(values: readonly string[]): StringRule {
  const known = new Set(values);
  const shown = values.filter((value) => value !== "");
  return (value, field, problems) => {
    if (value !== "" && !known.has(value)) problems.push(notSupported(field, shown, value));
  };
}

function boundsMessage(min: number | undefined, max: number | undefined): string {
  if (max === undefined) return `must be greater than or equal to ${min}`;
  return min === undefined ? `must be less than or equal to ${max}` : rangeMessage(min, max);
}

/** What a check yields, for callers that run one by itself. */
export function problemsOf(value: Values, found: Iterable<Problem>): Problem[] {
  const problems: Problem[] = [];
  collect(value, found, problems);
  return problems;
}

/** Takes in what a check yields, reading the refused value from the object where the check did not give it. */
function collect(value: Values, found: Iterable<Problem>, problems: Problem[]): void {
  for (const problem of found)
    problems.push(problem.value === undefined ? { ...problem, value: valueAt(value, problem.field) } : problem);
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
