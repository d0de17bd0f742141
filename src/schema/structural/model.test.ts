import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeText } from "../decode.ts";
import { applyDefaults } from "../defaults.ts";
import { type Problem, problemText } from "../problem.ts";
import { listStruct } from "../protobuf/list.ts";
import { hasProtobuf } from "../protobuf/message.ts";
import { validateObject, validateStatus } from "../validate.ts";
import { structuralKind } from "./kind.ts";
import type { RuleFinding } from "./rules.ts";
import type { ValidationOptions } from "./validation.ts";

const names = { group: "example.com", version: "v1", kind: "Thing", plural: "things", doc: "" } as const;
const kindOf = (schema: object, options: ValidationOptions = {}) =>
  structuralKind({ ...names, scope: "Namespaced", schema: { ...schema }, ...options });
const withSpec = (spec: object, options?: ValidationOptions) =>
  kindOf({ type: "object", properties: { spec, status: { type: "object" } } }, options);
const fields = (properties: object) => ({ type: "object", properties });

type Kind = ReturnType<typeof kindOf>;
const wrapped = (spec: string) =>
  `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","namespace":"n"},"spec":${spec}}`;
/** The spec that is kept of one in JSON, and what strict decoding says. */
function kept(kind: Kind, spec: string): { readonly spec: string; readonly unknown: readonly string[] } {
  const { object, strictErrors } = decodeText(kind, wrapped(spec));
  return { spec: JSON.stringify(applyDefaults(kind, object).spec), unknown: strictErrors };
}
const objectOf = (spec: unknown) => ({ metadata: { name: "a", namespace: "n" }, spec });
const problems = (kind: Kind, spec: unknown, old?: unknown): readonly string[] => {
  const before = old === undefined ? undefined : versioned(objectOf(old));
  return validateObject(kind, before ? versioned(objectOf(spec)) : objectOf(spec), before).map(problemText);
};
const versioned = <T extends { readonly metadata: object }>(object: T) => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: "1" },
});

const string = { type: "string" };
const keeps = { "x-kubernetes-preserve-unknown-fields": true };
const any = { type: "object", ...keeps };

test("unknown fields are dropped and told of, by path and in order", () => {
  const kind = withSpec(fields({ a: fields({ b: string }), l: { type: "array", items: fields({ k: string }) } }));
  const { spec, unknown } = kept(kind, '{"z":1,"l":[{"k":"a","q":{"r":1}}],"a":{"b":"x","c":2}}');
  assert.equal(spec, '{"l":[{"k":"a"}],"a":{"b":"x"}}');
  assert.deepEqual(unknown, ['unknown field "spec.a.c"', 'unknown field "spec.l[0].q"', 'unknown field "spec.z"']);
});

test("unknown fields of the root and of metadata are told of before all others", () => {
  const text = '{"extra":1,"metadata":{"name":"a","zz":{}},"spec":{"a":1}}';
  const { object, strictErrors } = decodeText(withSpec(fields({})), text);
  assert.deepEqual(
    strictErrors,
    ["metadata.zz", "extra", "spec.a"].map((path) => `unknown field "${path}"`),
  );
  assert.deepEqual(object, { metadata: { name: "a" }, spec: {} });
});

const pruned: readonly (readonly [name: string, schema: object, given: string, kept: string])[] = [
  ["all is kept below what keeps unknown fields", any, '{"x":{"y":[{}]},"z":null}', '{"x":{"y":[{}]},"z":null}'],
  [
    "known fields are pruned even where unknown ones are kept",
    { ...any, properties: { a: fields({ b: string }) } },
    '{"a":{"b":"","c":1},"d":{"e":2}}',
    '{"a":{"b":""},"d":{"e":2}}',
  ],
  [
    "items of a list that keeps unknown fields keep theirs",
    fields({ l: { type: "array", ...keeps, items: fields({ a: fields({}) }) } }),
    '{"l":[{"a":{"x":1},"b":2}]}',
    '{"l":[{"a":{},"b":2}]}',
  ],
  [
    "values of a map are pruned by its schema",
    { type: "object", additionalProperties: fields({ a: string }) },
    '{"x":{"a":"1","b":2}}',
    '{"x":{"a":"1"}}',
  ],
  [
    "values of a map of anything lose what is in them",
    { type: "object", additionalProperties: true },
    '{"x":{"a":1},"y":2}',
    '{"x":{},"y":2}',
  ],
  [
    "numbers, texts and empty things stay as they are",
    fields({ a: {}, b: {}, c: {}, d: {}, e: {} }),
    '{"a":0,"b":"","c":[],"d":{},"e":false}',
    '{"a":0,"b":"","c":[],"d":{},"e":false}',
  ],
];
for (const [name, schema, given, wanted] of pruned)
  test(name, () => assert.equal(kept(withSpec(schema), given).spec, wanted));

const filled: readonly (readonly [name: string, schema: object, given: string, wanted: string])[] = [
  ["a null is dropped where none may be", fields({ a: string }), '{"a":null}', "{}"],
  ["a null stays where one may be", fields({ a: { ...string, nullable: true } }), '{"a":null}', '{"a":null}'],
  [
    "a null asks for the default where none may be",
    fields({ a: { ...string, default: "d" } }),
    '{"a":null}',
    '{"a":"d"}',
  ],
  [
    "a null that may be is no reason for the default",
    fields({ a: { ...string, nullable: true, default: "d" } }),
    '{"a":null}',
    '{"a":null}',
  ],
  ["a default of null is none", fields({ a: { ...string, nullable: true, default: null } }), "{}", "{}"],
  ["a null of a map goes too", { type: "object", additionalProperties: string }, '{"a":null,"b":""}', '{"b":""}'],
  [
    "a null of a map gets the default",
    { type: "object", additionalProperties: { ...string, default: "d" } },
    '{"a":null}',
    '{"a":"d"}',
  ],
  [
    "a null of a list stays for validation to refuse",
    fields({ l: { type: "array", items: string } }),
    '{"l":[null]}',
    '{"l":[null]}',
  ],
  [
    "a null of a list gets the default",
    fields({ l: { type: "array", items: { ...string, default: "d" } } }),
    '{"l":[null]}',
    '{"l":["d"]}',
  ],
  ["what keeps unknown fields keeps their nulls", any, '{"a":null}', '{"a":null}'],
  [
    "zeros are no reason for a default",
    fields({ a: { type: "integer", default: 5 }, b: { ...string, default: "x" } }),
    '{"a":0,"b":""}',
    '{"a":0,"b":""}',
  ],
  [
    "defaults have defaults of their own",
    fields({
      o: { ...fields({ a: { ...string, default: "in" }, b: { type: "integer", default: 7 } }), default: { a: "out" } },
    }),
    "{}",
    '{"o":{"a":"out","b":7}}',
  ],
  ["there is no default in what is absent", fields({ o: fields({ a: { ...string, default: "in" } }) }), "{}", "{}"],
];
for (const [name, schema, given, wanted] of filled)
  test(name, () => {
    const kind = withSpec(schema);
    const { object } = decodeText(kind, wrapped(given));
    const once = JSON.stringify(applyDefaults(kind, object).spec);
    assert.equal(once, wanted);
    assert.equal(JSON.stringify(applyDefaults(kind, object).spec), once);
  });

test("a default that was filled in is nobody else's", () => {
  const kind = withSpec(fields({ o: { ...any, default: { a: [] } } }));
  const [one, other] = [1, 2].map(() => applyDefaults(kind, decodeText(kind, wrapped("{}")).object));
  one?.spec.o.a.push(1);
  assert.deepEqual(other?.spec.o.a, []);
});

test("numbers are kept as Go keeps them: integers of 64 bits exactly, all others as doubles", () => {
  const numbers: readonly (readonly [string, string])[] = [
    ["9007199254740993", "9007199254740993"],
    ["-9223372036854775808", "-9223372036854775808"],
    ["9223372036854775807", "9223372036854775807"],
    ["9223372036854775808", "9223372036854776000"],
    ["12345678901234567890", "12345678901234567000"],
    ["1.0", "1"],
    ["1e2", "100"],
    ["0.1234567890123456789", "0.12345678901234568"],
    ["1e300", "1e+300"],
    ["-0", "0"],
  ];
  for (const [given, wanted] of numbers) {
    const { spec } = kept(withSpec(any), `{"a":[${given}],"b":"9007199254740993"}`);
    assert.equal(spec, `{"a":[${wanted}],"b":"9007199254740993"}`);
  }
  const text = wrapped('{"a":9007199254740993}');
  assert.equal(JSON.stringify(withSpec(any).model.parse(text)), text);
});

test("a number beyond all numbers is refused", () => {
  for (const number of ["1e400", "-1e400"])
    assert.throws(() => decodeText(withSpec(any), wrapped(`{"a":${number}}`)), {
      message: `json: cannot unmarshal number ${number} into Go value of type float64`,
    });
});

test("keys with names that objects inherit are data", () => {
  const spec = '{"__proto__":{"a":1},"constructor":2,"hasOwnProperty":null}';
  assert.equal(kept(withSpec(any), spec).spec, spec);
  const kind = withSpec(fields({ a: string, ["__proto__"]: fields({ b: string }) }));
  assert.equal(kept(kind, '{"__proto__":{"b":"1","c":2},"constructor":1}').spec, '{"__proto__":{"b":"1"}}');
});

test("keys that stand twice are told of, whatever comes of them", () => {
  assert.deepEqual(kept(withSpec(fields({ s: string })), '{"s":"a","s":"b","z":{"y":1,"y":2}}').unknown, [
    'duplicate field "spec.s"',
    'duplicate field "spec.z.y"',
    'unknown field "spec.z"',
  ]);
});

test("what is no object is refused, and so are names and metadata of the wrong type", () => {
  const kind = withSpec(any);
  assert.throws(() => decodeText(kind, "[]"), { field: "" });
  assert.throws(() => decodeText(kind, '{"kind":1}'), /cannot unmarshal number into Go struct field TypeMeta.kind/);
  assert.throws(() => decodeText(kind, '{"metadata":{"labels":{"a":1}}}'), {
    field: "metadata",
    message: "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
  });
  assert.throws(() => decodeText(kind, '{"metadata":1}'), { field: "metadata" });
  assert.deepEqual(decodeText(kind, '{"metadata":null}').object, { metadata: {} });
});

const embedded = withSpec(fields({ e: { ...any, "x-kubernetes-embedded-resource": true } }));

test("an object inside the object has its metadata read as all objects have", () => {
  const { spec, unknown } = kept(
    embedded,
    '{"e":{"apiVersion":"v1","kind":"P","metadata":{"name":"","zz":1},"x":{"y":1}}}',
  );
  assert.equal(spec, '{"e":{"apiVersion":"v1","kind":"P","metadata":{},"x":{"y":1}}}');
  assert.deepEqual(unknown, ['unknown field "spec.e.metadata.zz"']);
  assert.throws(() => kept(embedded, '{"e":{"kind":1}}'), {
    message: "spec.e.kind: Invalid value: 1: must be a string",
  });
  assert.throws(
    () => kept(embedded, '{"e":{"metadata":{"name":1}}}'),
    /^DecodeError: spec\.e\.metadata: Invalid value: \{"name":1\}: json: cannot/,
  );
});

test("an object inside the object says what it is, and its metadata is judged", () => {
  const told = (e: object) => problems(embedded, { e });
  assert.deepEqual(told({ apiVersion: "v1", kind: "Pod", metadata: { name: "Bad Name!" } }), []);
  assert.deepEqual(told({}), ["spec.e.apiVersion: Required value", "spec.e.kind: Required value"]);
  assert.deepEqual(told({ apiVersion: "a/b/c", kind: "pod" }), [
    'spec.e.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
  ]);
  assert.deepEqual(told({ apiVersion: "", kind: "" }), [
    'spec.e.apiVersion: Invalid value: "": must not be empty',
    'spec.e.kind: Invalid value: "": must not be empty',
  ]);
  assert.match(
    told({ apiVersion: "v1", kind: "A B" }).join(),
    /^spec\.e\.kind: Invalid value: "A B": may have mixed case, but/,
  );
  assert.deepEqual(told({ apiVersion: "v1", kind: "P", metadata: { name: "a/b", finalizers: ["x"] } }), [
    `spec.e.metadata.name: Invalid value: "a/b": may not contain '/'`,
  ]);
});

test("items of sets and keys of maps stand there once", () => {
  const kind = withSpec(
    fields({
      set: { type: "array", items: {}, "x-kubernetes-list-type": "set" },
      one: { type: "array", items: any, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] },
      two: { type: "array", items: any, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"] },
      free: { type: "array", items: {} },
    }),
  );
  const repeated = (spec: object) => problems(kind, spec);
  assert.deepEqual(repeated({ set: ["a", "b", 1, { a: 1 }], free: [1, 1] }), []);
  assert.deepEqual(repeated({ set: ["a", "a", "a", { a: 1, b: 2 }, { b: 2, a: 1 }] }), [
    'spec.set[1]: Duplicate value: "a"',
    'spec.set[4]: Duplicate value: {"b":2,"a":1}',
  ]);
  assert.deepEqual(repeated({ one: [{ k: "a" }, { k: "a", x: 1 }, {}, {}] }), [
    'spec.one[1]: Duplicate value: {"k":"a"}',
    "spec.one[3]: Duplicate value: {}",
  ]);
  assert.deepEqual(
    repeated({
      two: [
        { k: "a", p: 1 },
        { k: "a", p: 2 },
        { k: "a", p: 2 },
      ],
    }),
    ['spec.two[2]: Duplicate value: {"k":"a","p":2}'],
  );
  assert.deepEqual(
    repeated({ one: ["a"] }).at(-1),
    'spec.one[0]: Invalid value: "a": must be an object for an array of list-type map',
  );
  assert.deepEqual(problems(kind, { set: ["a", "a"] }, { set: ["b", "b"] }), []);
});

const tight = withSpec(
  fields({
    p: { ...string, maxLength: 5 },
    o: fields({ x: { ...string, enum: ["a"] }, y: { type: "integer" } }),
    l: { type: "array", items: { ...string, pattern: "^a" } },
    m: { type: "object", additionalProperties: { type: "integer", maximum: 5 } },
    lm: {
      type: "array",
      items: fields({ k: string, v: { type: "integer", maximum: 5 } }),
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    },
    one: { ...fields({ a: string }), oneOf: [{ required: ["a"] }, { required: ["b"] }] },
  }),
);
const old = {
  p: "toolong",
  o: { x: "zz", y: 1 },
  l: ["b", "a"],
  m: { a: 9 },
  lm: [
    { k: "a", v: 9 },
    { k: "b", v: 1 },
  ],
  one: {},
};
const updates: readonly (readonly [name: string, change: object, ...problems: string[]])[] = [
  ["nothing changed", {}],
  ["another field changed", { o: { x: "zz", y: 2 } }],
  ["it got worse", { p: "toolonger" }, "spec.p: Too long: may not be more than 5 bytes"],
  ["it was mended", { p: "fine", one: { a: "" } }],
  ["another value is as wrong", { o: { x: "yy", y: 1 } }, 'spec.o.x: Unsupported value: "yy": supported values: "a"'],
  [
    "an item was added to a list without keys",
    { l: ["b", "a", "ab"] },
    "spec.l[0]: Invalid value: \"b\": spec.l[0] in body should match '^a'",
  ],
  ["an entry was added", { m: { a: 9, b: 1 } }],
  [
    "an entry came that is wrong",
    { m: { a: 9, b: 8 } },
    "spec.m.b: Invalid value: 8: spec.m.b in body should be less than or equal to 5",
  ],
  [
    "another item of a list with keys changed",
    {
      lm: [
        { k: "a", v: 9 },
        { k: "b", v: 2 },
      ],
    },
  ],
  [
    "items of a list with keys changed places",
    {
      lm: [
        { k: "b", v: 1 },
        { k: "a", v: 9 },
      ],
    },
  ],
  [
    "an item of a list with keys changed and is wrong still",
    {
      lm: [
        { k: "a", v: 8 },
        { k: "b", v: 1 },
      ],
    },
    "spec.lm[0].v: Invalid value: 8: spec.lm[0].v in body should be less than or equal to 5",
  ],
];
for (const [name, change, ...wanted] of updates)
  test(`of an object that an older schema let in: ${name}`, () =>
    assert.deepEqual(problems(tight, { ...old, ...change }, old), wanted));

test("what an older schema let in is refused to who creates it", () => assert.equal(problems(tight, old).length, 7));

test("a status is judged by its own schema, with the words beginning there", () => {
  const condition = fields({ type: string });
  const list = {
    type: "array",
    items: condition,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
  };
  const kind = kindOf(fields({ spec: fields({ a: string }), status: fields({ phase: string, conditions: list }) }));
  const told = (status: object, spec: unknown = {}) =>
    validateStatus(kind, versioned({ ...objectOf(spec), status }), versioned(objectOf(spec))).map(problemText);
  assert.deepEqual(told({ phase: "a" }, { a: 1 }), []);
  assert.deepEqual(told({}), []);
  assert.deepEqual(told({ phase: 1 }), [
    'status.phase: Invalid value: "integer": phase in body must be of type string: "integer"',
  ]);
  assert.deepEqual(told({ conditions: [{ type: "A" }, { type: "A" }] }), [
    'status.conditions[1]: Duplicate value: {"type":"A"}',
  ]);
});

test("rules are asked of the values they stand for, with what those were, unless the object is not even of the right types", () => {
  const asked: unknown[] = [];
  const rule = (name: string) => ({ "x-kubernetes-validations": [{ rule: name }] });
  const kind = withSpec(
    fields({
      n: { type: "integer", ...rule("n") },
      m: { type: "object", additionalProperties: { ...string, ...rule("m") } },
      lm: {
        type: "array",
        items: { ...fields({ k: string, v: {} }), ...rule("lm") },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      },
    }),
    {
      rules: ({ source }) => {
        const [{ rule: name }] = source["x-kubernetes-validations"] as [{ rule: string }];
        const refused = (field: string, value: unknown): RuleFinding => ({
          problem: { type: "Invalid", field, detail: "says no", value },
          isFirm: false,
        });
        return function* (value, before): Iterable<RuleFinding> {
          asked.push([name, value, before?.old]);
          if (name === "n") yield refused("", value);
          if (name === "lm") yield refused("v", 1);
        };
      },
    },
  );
  const told = problems(
    kind,
    {
      n: 2,
      m: { a: "x" },
      lm: [
        { k: "b", v: 1 },
        { k: "a", v: 1 },
      ],
    },
    { n: 1, m: {}, lm: [{ k: "a", v: 1 }] },
  );
  assert.deepEqual(asked, [
    ["n", 2, 1],
    ["m", "x", undefined],
    ["lm", { k: "b", v: 1 }, undefined],
    ["lm", { k: "a", v: 1 }, { k: "a", v: 1 }],
  ]);
  assert.deepEqual(told, ["spec.n: Invalid value: 2: says no", "spec.lm[0].v: Invalid value: 1: says no"]);
  asked.length = 0;
  assert.deepEqual(problems(kind, { n: "a" }), [
    'spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"',
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
  ]);
  assert.deepEqual(asked, []);
});

test("what no schema can tell of is checked between the schema and the lists", () => {
  const kind = withSpec(fields({ l: { type: "array", items: string, "x-kubernetes-list-type": "set" }, n: string }), {
    *check(object) {
      if ((object.spec as { readonly n?: unknown }).n === 1)
        yield { type: "Invalid", field: ".spec.n", detail: "is one", value: 1 };
    },
  });
  assert.deepEqual(
    problems(kind, { l: ["a", "a"], n: 1 }).map((text) => text.slice(0, text.indexOf(":"))),
    ["spec.n", ".spec.n", "spec.l[1]"],
  );
});

test("what no schema can tell of a status is checked when it is written", () => {
  const refused: Problem = { type: "Invalid", field: ".status.n", detail: "is none", value: 0 };
  const kind = withSpec(any, { checkStatus: () => [refused] });
  const object = { ...versioned(objectOf({})), status: {} };
  assert.deepEqual(validateStatus(kind, object, object).map(problemText), [".status.n: Invalid value: 0: is none"]);
  assert.deepEqual(validateObject(kind, object, object), []);
});

test("metadata is judged as that of built-in kinds, but any finalizer will do", () => {
  const kind = withSpec(any);
  const told = (metadata: object) => validateObject(kind, { metadata, spec: {} }).map(problemText);
  assert.deepEqual(told({ name: "a", namespace: "n", finalizers: ["x"] }), []);
  assert.deepEqual(told({ namespace: "n" }), ["metadata.name: Required value: name or generateName is required"]);
  assert.deepEqual(told({ name: "a" }), ["metadata.namespace: Required value"]);
});

test("the fields of an object are those of the schema, or all it has", () => {
  const { model } = kindOf({ ...any, properties: { metadata: { type: "object" }, spec: any } });
  assert.deepEqual(model.fieldNames, ["spec"]);
  assert.deepEqual(model.fieldsOf({ kind: "", metadata: {}, spec: 1, other: 2 }, { spec: 3, status: 4 }), [
    "spec",
    "other",
    "status",
  ]);
});

test("there is no protobuf of it, also not in a list and without any fields", () => {
  for (const kind of [withSpec(any), kindOf(any)])
    for (const struct of [kind.struct, listStruct(kind)]) assert.equal(hasProtobuf(struct), false);
});
