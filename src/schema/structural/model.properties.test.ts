import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeText } from "../decode.ts";
import { applyDefaults } from "../defaults.ts";
import { validateObject } from "../validate.ts";
import { structuralKind } from "./kind.ts";

type Schema = Readonly<Record<string, unknown>>;
type Json = unknown;

/** A schema, and an object that is told in JSON: as text, since no number in memory is what a client may write. */
interface Drawn {
  readonly schema: Schema;
  readonly given: Json;
  /** What is to come back, where that differs: unknown fields are gone, and defaults have come. */
  readonly wanted: Json;
}
/** A number as it is written. */
class Written {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toJSON(): unknown {
    return JSON.rawJSON(this.text);
  }
}
const written = (given: string, wanted = given) => ({ given: new Written(given), wanted: new Written(wanted) });
const same = (value: Json) => ({ given: value, wanted: value });

const name = fc.constantFrom("a", "b", "c", "__proto__", "constructor", "toString", "with.dot", "ä", "0");
const integer = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => written(String(value))),
  fc.constantFrom(
    written("9007199254740993"),
    written("0"),
    written("-1"),
    written("12345678901234567890", "12345678901234567000"),
    written("100000000000000000000", "100000000000000000000"),
    written("3.0", "3"),
  ),
);
const number = fc.oneof(
  integer,
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((value) => !Object.is(value, -0))
    .map(same),
);
const any = fc.letrec<{ value: { given: Json; wanted: Json } }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(number, fc.string().map(same), fc.boolean().map(same), fc.constant(same(null))),
    fc.array(tie("value"), { maxLength: 3 }).map((items) => ({
      given: items.map(({ given }) => given),
      wanted: items.map(({ wanted }) => wanted),
    })),
    fc.array(fc.tuple(name, tie("value")), { maxLength: 3 }).map((entries) => ({
      given: objectOf(entries.map(([key, { given }]) => [key, given])),
      wanted: objectOf(entries.map(([key, { wanted }]) => [key, wanted])),
    })),
  ),
})).value;

function objectOf(entries: readonly (readonly [string, Json])[]): Record<string, Json> {
  return Object.fromEntries(entries); // which makes fields even of `__proto__`
}

const scalar: fc.Arbitrary<Drawn> = fc.oneof(
  fc.string().map((value) => ({ schema: { type: "string" }, ...same(value) })),
  fc.boolean().map((value) => ({ schema: { type: "boolean" }, ...same(value) })),
  number.map((value) => ({ schema: { type: "number" }, ...value })),
  fc.constant({ schema: { type: "string", nullable: true }, ...same(null) }),
  fc.oneof(fc.string().map(same), fc.integer().map(same)).map((value) => ({
    schema: { "x-kubernetes-int-or-string": true },
    ...value,
  })),
  any
    .filter(({ given }) => given !== null)
    .map((value) => ({
      schema: { "x-kubernetes-preserve-unknown-fields": true },
      ...value,
    })),
);

/** What becomes of a field: it is sent, it is absent, it comes by default, or a null asks for the default. */
const fate = fc.constantFrom("sent", "absent", "default", "null");

const list = (node: fc.Arbitrary<Drawn>): fc.Arbitrary<Drawn> =>
  fc.tuple(node, fc.integer({ min: 0, max: 2 })).map(([{ schema, given, wanted }, count]) => ({
    schema: { type: "array", items: schema },
    given: Array(count).fill(given),
    wanted: Array(count).fill(wanted),
  }));
const map = (node: fc.Arbitrary<Drawn>): fc.Arbitrary<Drawn> =>
  fc.tuple(node, fc.uniqueArray(name, { maxLength: 2 })).map(([{ schema, given, wanted }, keys]) => ({
    schema: { type: "object", additionalProperties: schema },
    given: objectOf(keys.map((key) => [key, given])),
    wanted: objectOf(keys.map((key) => [key, wanted])),
  }));

const drawn = fc.letrec<{ node: Drawn; object: Drawn }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    tie("object"),
    list(tie("node")),
    map(tie("node")),
  ),
  object: fc
    .record({
      fields: fc.uniqueArray(fc.tuple(name, tie("node"), fate), { selector: ([key]) => key, maxLength: 4 }),
      unknown: fc.option(fc.tuple(fc.constantFrom("zz", "valueOf"), any), { nil: undefined }),
      keepsUnknown: fc.boolean(),
    })
    .map(objectNode),
}));

function objectNode({
  fields,
  unknown,
  keepsUnknown,
}: {
  readonly fields: readonly (readonly [string, Drawn, string])[];
  readonly unknown: readonly [string, { readonly given: Json; readonly wanted: Json }] | undefined;
  readonly keepsUnknown: boolean;
}): Drawn {
  const byDefault = "by default";
  const schemas = fields.map(([key, node, how]) => {
    const isDefaulted = how === "default" || how === "null";
    return [key, isDefaulted ? { type: "string", default: byDefault } : node.schema] as const;
  });
  const given = fields.flatMap(([key, node, how]): [string, Json][] => {
    if (how === "null") return [[key, null]];
    return how === "sent" ? [[key, node.given]] : [];
  });
  const wanted = fields.flatMap(([key, node, how]): [string, Json][] => {
    if (how === "absent") return [];
    return [[key, how === "sent" ? node.wanted : byDefault]];
  });
  return {
    schema: {
      type: "object",
      properties: objectOf(schemas),
      ...(keepsUnknown && { "x-kubernetes-preserve-unknown-fields": true }),
    },
    given: objectOf([...given, ...(unknown ? [[unknown[0], unknown[1].given] as const] : [])]),
    wanted: objectOf([...wanted, ...(unknown && keepsUnknown ? [[unknown[0], unknown[1].wanted] as const] : [])]),
  };
}

const kindOf = (spec: Schema) =>
  structuralKind({
    group: "example.com",
    version: "v1",
    kind: "Thing",
    plural: "things",
    scope: "Cluster",
    doc: "",
    schema: { type: "object", properties: { spec } },
  });
const wrapped = (spec: Json) =>
  `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":${JSON.stringify(spec)}}`;

/** The same text for values that differ in the order of their keys only. */
const canonical = (text: string): string => {
  const sorted = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== "object" || value === null) return value;
    return objectOf(
      Object.entries(value)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, inner]) => [key, sorted(inner)]),
    );
  };
  // A number is marked as a text, so that reading it for comparison cannot round it.
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : `"#${token}"`,
  );
  return JSON.stringify(sorted(JSON.parse(marked)));
};

test("objects of any schema come out as they went in, apart from what is pruned and what comes by default", () => {
  fc.assert(
    fc.property(drawn.object, ({ schema, given, wanted }) => {
      const kind = kindOf(schema);
      const { object } = decodeText(kind, wrapped(given));
      const held = applyDefaults(kind, object);
      const text = JSON.stringify(held);
      assert.equal(canonical(text), canonical(wrapped(wanted)));
      assert.deepEqual(validateObject(kind, held), []);
      // What is stored is read again as what it is, and nothing is pruned or filled in a second time.
      assert.equal(JSON.stringify(kind.model.parse(text)), text);
      assert.equal(JSON.stringify(applyDefaults(kind, decodeText(kind, text).object)), text);
    }),
    { numRuns: 500 },
  );
});

test("a number beyond all numbers is refused wherever it stands", () => {
  fc.assert(
    fc.property(any, fc.constantFrom("1e400", "-1e999", "123e4567"), ({ given }, beyond) => {
      const kind = kindOf({ type: "object", "x-kubernetes-preserve-unknown-fields": true });
      assert.throws(
        () => decodeText(kind, wrapped({ given, inner: [{ beyond: new Written(beyond) }] })),
        /cannot unmarshal number/,
      );
    }),
  );
});
