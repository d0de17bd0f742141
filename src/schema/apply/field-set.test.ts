import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepFreeze } from "#base/collections.ts";
import { compareElements, FieldSetError, inElementOrder, parseElement, pathText } from "./element.ts";
import {
  below,
  difference,
  emptySet,
  equalSets,
  type FieldSet,
  has,
  intersection,
  pathsOf,
  recursiveDifference,
  setOf,
  union,
} from "./field-set.ts";
import { decodeFields } from "./fields-v1.ts";
import { goQuote } from "./value.ts";

test("an element has one spelling", () => {
  const cases: [given: string, parsed: string | undefined][] = [
    ["f:name", "f:name"],
    ["f:", "f:"],
    ["f:a:b", "f:a:b"],
    ["f:__proto__", "f:__proto__"],
    ['k:{"b":1,"a":"x"}', 'k:{"a":"x","b":1}'],
    ['k:{ "name" : "x" }', 'k:{"name":"x"}'],
    ['k:{"1":1,"0":2}', 'k:{"0":2,"1":1}'],
    ["k:null", "k:{}"],
    ['v:"a<b"', 'v:"a\\u003cb"'],
    ["v:1.0", "v:1"],
    ["v: true", "v:true"],
    ['v:{"b":[1],"a":null}', 'v:{"a":null,"b":[1]}'],
    ["i:007", "i:7"],
    ["i:-1", "i:-1"],
    ["x:later", undefined],
  ];
  for (const [given, parsed] of cases) assert.equal(parseElement(given), parsed, given);
});

test("what is no element is refused", () => {
  for (const text of [
    "",
    "f",
    "ab",
    "ff:x",
    "__proto__",
    "v:",
    "v:{",
    "k:[]",
    "k:1",
    "k:{",
    "i:",
    "i:x",
    "i:1e3",
    "i:99999999999999999999",
  ])
    assert.throws(() => parseElement(text), FieldSetError, text);
});

test("elements are in upstream's order: fields, keys, values, indexes", () => {
  const ordered = [
    ".",
    "f:a",
    "f:b",
    "f:ä",
    "f:\uffee",
    "f:😀",
    'k:{"name":"b"}',
    'k:{"port":80,"protocol":"TCP"}',
    'k:{"port":80,"protocol":"UDP"}',
    'k:{"port":443}',
    "v:1",
    "v:2.5",
    "v:10",
    'v:"a"',
    'v:"b"',
    "v:false",
    "v:true",
    "v:[1]",
    'v:{"a":1}',
    "v:null",
    "i:2",
    "i:10",
  ];
  assert.deepEqual(ordered.toReversed().sort(compareElements), ordered);
});

test("many elements come into the same order as few", () => {
  const spellings: readonly ((text: string) => string)[] = [
    (text) => `f:${text}`,
    (text) => `v:${JSON.stringify(text)}`,
    (text) => `k:${JSON.stringify({ name: text })}`,
    (text) => `k:${JSON.stringify({ name: text, port: text.length })}`,
    (text) => `v:${text.length}`,
    (text) => `i:${text.length}`,
  ];
  const texts = fc.array(fc.oneof(fc.stringMatching(/^[a-c ]{0,3}$/), fc.string({ unit: "binary", maxLength: 3 })));
  fc.assert(
    fc.property(texts, fc.array(fc.constantFrom(...spellings), { minLength: 1, maxLength: 2 }), (drawn, chosen) => {
      const few = new Set([...drawn, ..."abcdefghijklmnopq!~"].flatMap((text) => chosen.map((spell) => spell(text))));
      assert.deepEqual(inElementOrder([...few]), [...few].sort(compareElements));
    }),
    { numRuns: 500 },
  );
});

test("paths are printed as upstream prints them", () => {
  const path = ["f:spec", 'k:{"name":"a\\"b","on":true,"port":80}', 'v:"x"', "v:1.5", "i:3"];
  assert.equal(pathText(path), '.spec[name="a\\"b",on=true,port=80][="x"][=1.5][3]');
  assert.equal(goQuote('é\n\x00\u200b"\\😀\u{e0001}'), '"é\\n\\x00\\u200b\\"\\\\😀\\U000e0001"');
});

test("a document is read as upstream reads it", () => {
  const cases: [document: unknown, text: string][] = [
    [undefined, "{}"],
    [{}, "{}"],
    [{ ".": {} }, "{}"],
    [{ "f:a": null }, '{"f:a":{}}'],
    [{ "f:a": { ".": 1 } }, '{"f:a":{}}'],
    [{ "f:b": {}, "f:a": { "f:c": {}, ".": {} } }, '{"f:a":{".":{},"f:c":{}},"f:b":{}}'],
    [{ "x:y": { nonsense: 1 }, "f:a": {} }, '{"f:a":{}}'],
    [{ "f:a": { "x:y": {} } }, '{"f:a":{}}'],
    [JSON.parse('{"f:__proto__":{"f:constructor":{}}}'), '{"f:__proto__":{"f:constructor":{}}}'],
  ];
  for (const [document, text] of cases) assert.equal(JSON.stringify(decodeFields(document)), text);
  for (const document of [
    [],
    1,
    "x",
    { "f:a": 1 },
    { "f:a": [] },
    { "f:a": { b: {} } },
    { "": {} },
    JSON.parse('{"__proto__":{}}'),
  ])
    assert.throws(() => decodeFields(document), FieldSetError, JSON.stringify(document));
});

test("a document that nests too deeply is refused", () => {
  const document = JSON.parse(`${'{"f:a":'.repeat(5000)}{}${"}".repeat(5000)}`);
  assert.throws(() => decodeFields(document), /exceeded max depth/);
});

test("a document that was read once is not read again", () => {
  const document = { "f:b": {}, "f:a": {} };
  const set = decodeFields(document);
  assert.equal(decodeFields(document), set);
  assert.equal(decodeFields(set), set);
});

const element = fc.oneof(
  fc.constantFrom(
    "f:a",
    "f:b",
    "f:__proto__",
    "f:constructor",
    'k:{"name":"x"}',
    'k:{"name":"y"}',
    'v:"a"',
    "i:0",
    "i:10",
  ),
);
const path = fc.array(element, { minLength: 1, maxLength: 4 });
const anySet = fc.array(path, { maxLength: 12 }).map((paths) => deepFreeze(setOf(...paths)));

/** The obvious way: a set of fields is a set of texts. */
const model = (set: FieldSet): Set<string> => new Set(pathsOf(set).map((path) => JSON.stringify(path)));
const texts = (set: Set<string>): string[] => [...set].sort();
const isBelow = (path: string, set: Set<string>): boolean => {
  const steps: string[] = JSON.parse(path);
  return steps.some((_, i) => set.has(JSON.stringify(steps.slice(0, i + 1))));
};

test("operations are those of plain sets of paths", () => {
  fc.assert(
    fc.property(anySet, anySet, (a, b) => {
      const [left, right] = [model(a), model(b)];
      assert.deepEqual(texts(model(union(a, b))), texts(left.union(right)));
      assert.deepEqual(texts(model(intersection(a, b))), texts(left.intersection(right)));
      assert.deepEqual(texts(model(difference(a, b))), texts(left.difference(right)));
      assert.deepEqual(
        texts(model(recursiveDifference(a, b))),
        texts(new Set([...left].filter((path) => !isBelow(path, right)))),
      );
      assert.equal(equalSets(a, b), texts(left).join() === texts(right).join());
      for (const set of [union(a, b), intersection(a, b), difference(a, b), recursiveDifference(a, b)])
        assert.equal(
          JSON.stringify(decodeFields(structuredClone(set))),
          JSON.stringify(set),
          "in order, nothing empty",
        );
    }),
    { numRuns: 1000 },
  );
});

test("membership and what lies below an element agree with the paths", () => {
  fc.assert(
    fc.property(anySet, path, element, (set, path, element) => {
      assert.equal(has(set, path), model(set).has(JSON.stringify(path)));
      const expected = pathsOf(set).filter(([first, ...rest]) => first === element && rest.length > 0);
      assert.deepEqual(
        pathsOf(below(set, element)),
        expected.map((path) => path.slice(1)),
      );
    }),
  );
});

test("an operation that changes nothing answers with the set itself", () => {
  fc.assert(
    fc.property(anySet, anySet, (a, b) => {
      const both = union(a, b);
      assert.equal(union(both, b), both);
      assert.equal(union(both, structuredClone(a)), both);
      const rest = difference(a, b);
      assert.equal(difference(rest, b), rest);
    }),
  );
});

test("a set is its document, whatever order a client writes it in", () => {
  const shuffled = (set: FieldSet): FieldSet =>
    Object.fromEntries(
      Object.entries(set)
        .toReversed()
        .map(([element, part]) => [element, shuffled(part)]),
    );
  fc.assert(
    fc.property(anySet, (set) => {
      assert.equal(JSON.stringify(decodeFields(JSON.parse(JSON.stringify(set)))), JSON.stringify(set));
      assert.equal(JSON.stringify(decodeFields(shuffled(set))), JSON.stringify(set));
      assert.ok(equalSets(setOf(...pathsOf(set)), set));
    }),
  );
});

test("no document harms: it is a set, or it is refused", () => {
  const key = fc.oneof(
    element,
    fc.constantFrom(".", "__proto__", "constructor", "f:", "k:", "v:", "i:", "k:{}", "toString"),
    fc.string({ maxLength: 6 }),
    fc
      .tuple(fc.constantFrom("f:", "k:", "v:", "i:", "x:"), fc.json({ maxDepth: 2 }))
      .map(([kind, body]) => kind + body),
  );
  const { document } = fc.letrec<{ document: unknown }>((tie) => ({
    document: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.constantFrom({}, null, 1, "x", [], false),
      fc
        .array(fc.tuple(key, tie("document")), { maxLength: 4 })
        .map((entries) =>
          JSON.parse(`{${entries.map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join(",")}}`),
        ),
    ),
  }));
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  fc.assert(
    fc.property(document, (document) => {
      try {
        const set = decodeFields(document);
        assert.equal(JSON.stringify(decodeFields(structuredClone(set))), JSON.stringify(set));
        union(set, difference(set, emptySet));
      } catch (error) {
        assert.ok(error instanceof FieldSetError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
  assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), before);
});
