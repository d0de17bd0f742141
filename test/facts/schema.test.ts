// Every declared struct against the table of upstream's types: fields, types, numbers, keys.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FieldSpec, Type } from "#schema/field.ts";
import type { AnyStruct } from "#schema/struct.ts";
import { Exceptions, facts, missing } from "./facts.ts";
import { fieldsOf, reachableStructs } from "./structs.ts";

interface FieldFacts {
  readonly t: string;
  readonly req?: boolean;
  readonly pn?: number;
  readonly unknownTypeMeta?: number;
  readonly via?: string;
  readonly lt?: string;
  readonly lk?: readonly string[];
  readonly mt?: string;
  readonly ps?: string;
  readonly pk?: string;
  readonly enum?: readonly string[];
  readonly itemsEnum?: readonly string[];
  readonly ptr?: boolean;
  readonly oe?: boolean;
  readonly gate?: string;
}
interface TypeFacts {
  readonly mapType?: string;
  readonly unions?: readonly unknown[];
  readonly fields: Readonly<Record<string, FieldFacts>>;
}

const ofOldReleases = "of v1.7 to v1.13; not published, and dropped unless it is asked for";
const exceptions = new Exceptions({
  "core/v1.Event metadata required": "our objects have metadata in any case",
  "core/v1.ResourceFieldSelector divisor writtenWhenZero":
    "a quantity is a struct in Go, and those are written in any case",
  "apiregistration/v1.APIServiceSpec caBundle listType": "bytes are no list here",
  "admissionregistration/v1.NamedRuleWithOperations *": "the table names the innermost of two nested messages",
  "meta/v1.APIResource verbs listType": "nobody applies discovery documents",
  "apidiscovery/v2.APIGroupDiscoveryList items listType": "nobody applies discovery documents",
  "meta/v1.PartialObjectMetadataList items listType": "nobody applies lists",
  "meta/v1.ObjectMeta initializers": ofOldReleases,
  "meta/v1.Initializers": ofOldReleases,
  "meta/v1.Initializer": ofOldReleases,
  "meta/v1.InitializerResult": ofOldReleases,
  "meta/v1.TableRow cells type": "any JSON value, under another name",
  "version.Info *": "the table does not know which fields of it are left out when empty",
});

test("every struct equals upstream's type", { skip: missing }, () => {
  const { types } = facts<{ types: Readonly<Record<string, TypeFacts>> }>("types");
  const wrong = [...reachableStructs().values()]
    .flatMap((struct) => {
      const expected = types[struct.name];
      return expected ? differences(struct, expected) : [`${struct.name}: not a type of the API`];
    })
    .filter((line) => !exceptions.covers(line.slice(0, line.indexOf(":"))));
  assert.deepEqual(wrong, []);
  assert.deepEqual(exceptions.unused(), [], "exceptions that no longer occur");
});

function differences(struct: AnyStruct, expected: TypeFacts): readonly string[] {
  const ours = new Map(fieldsOf(struct));
  const names = new Set([...ours.keys(), ...Object.keys(expected.fields)]);
  const whole = compare(
    struct.name,
    { mapType: struct.atomic ? "atomic" : undefined, union: unionOf(struct) },
    { mapType: expected.mapType, union: expected.unions?.[0] },
  );
  return [
    ...whole,
    ...[...names].flatMap((name) => {
      const field = ours.get(name);
      const fact = expected.fields[name];
      const where = `${struct.name} ${name}`;
      if (!field) return [`${where}: is missing`];
      if (!fact) return [`${where}: upstream has no such field`];
      return compare(where, described(field), factsOf(fact, field));
    }),
  ];
}

const unionOf = ({ union }: AnyStruct) =>
  union && {
    ...(union.discriminator !== undefined && { discriminator: union.discriminator }),
    "fields-to-discriminateBy": union.fields,
  };

const described = (spec: FieldSpec) => ({
  type: typeText(spec.type),
  required: spec.required ?? false,
  number: spec.number,
  inside: spec.inlined?.struct.name,
  listType: spec.type.is === "list" ? spec.listType : undefined,
  keys: spec.keys,
  mapType: spec.mapType,
  patch: spec.patchStrategy === "replace" && spec.keys ? undefined : spec.patchStrategy,
  patchKey: spec.patchStrategy === "replace" && spec.keys ? undefined : spec.patchKey,
  enum: publishedValues(spec),
  pointer: isPointer(spec),
  // Go writes structs in any case.
  writtenWhenZero:
    isPointer(spec) || spec.type.is === "struct"
      ? undefined
      : ((spec.required && !spec.omitEmpty) || spec.always) === true,
});

/** What OpenAPI lists, in its order. */
const publishedValues = ({ published, enum: values }: FieldSpec): readonly string[] | undefined =>
  published?.length === 0 ? undefined : (published ?? values);

const factsOf = (fact: FieldFacts, spec: FieldSpec): ReturnType<typeof described> => ({
  type: fact.t,
  required: fact.req ?? false,
  number: fact.pn ?? fact.unknownTypeMeta ?? 0,
  inside: fact.via,
  listType: fact.lt as FieldSpec["listType"],
  keys: fact.lk,
  mapType: fact.mt as FieldSpec["mapType"],
  patch: fact.ps as FieldSpec["patchStrategy"],
  patchKey: fact.pk,
  enum: fact.enum ?? fact.itemsEnum,
  pointer: fact.ptr ?? false,
  writtenWhenZero: fact.ptr || spec.type.is === "struct" ? undefined : !fact.oe,
});

/** A struct that is neither required nor always there is behind a pointer. */
const isPointer = ({ type, pointer, required, always, default: value }: FieldSpec): boolean =>
  pointer ?? (type.is === "struct" && !required && !always && value === undefined);

function typeText(type: Type): string {
  switch (type.is) {
    case "struct":
      return type.struct().name;
    case "list":
      return `list<${typeText(type.item)}>`;
    case "map":
      return `map<string,${typeText(type.value)}>`;
    case "either":
      return type.either.name;
    case "double":
      return "number";
    default:
      return type.is;
  }
}

function compare(where: string, ours: Readonly<Record<string, unknown>>, theirs: Readonly<Record<string, unknown>>) {
  return Object.keys(ours)
    .filter((key) => JSON.stringify(ours[key]) !== JSON.stringify(theirs[key]))
    .map((key) => `${where} ${key}: ${JSON.stringify(ours[key])}, upstream ${JSON.stringify(theirs[key])}`);
}

/** The type does not say the first; the strategy of claims drops the second, with all that goes with it. */
const handledInCode = new Set(["core/v1.Lifecycle stopSignal", "core/v1.TypedObjectReference namespace"]);

test("fields behind gates that are off are marked, and no others", { skip: missing }, () => {
  const { types } = facts<{ types: Readonly<Record<string, TypeFacts>> }>("types");
  const { gates } = facts<{ gates: readonly { name: string; default: boolean }[] }>("featuregates");
  const off = new Set(gates.filter((gate) => !gate.default).map(({ name }) => name));
  const wrong = [...reachableStructs().values()].flatMap((struct) =>
    fieldsOf(struct).flatMap(([name, { gateOff }]) => {
      const expected = types[struct.name]?.fields[name]?.gate?.split(",").find((gate) => off.has(gate));
      const inCode = handledInCode.has(`${struct.name} ${name}`);
      return gateOff === expected || inCode ? [] : [`${struct.name} ${name}: ${gateOff}, upstream ${expected}`];
    }),
  );
  assert.deepEqual(wrong, []);
});
