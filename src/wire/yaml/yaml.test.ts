import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DecodeError } from "#schema/json.ts";
import { parseYaml, parseYamlDocuments } from "./read.ts";
import { printYaml } from "./write.ts";

const read: readonly [yaml: string, value: unknown][] = [
  ["a: yes\nb: No\nc: on\nd: OFF\ne: y\nf: n", { a: true, b: false, c: true, d: false, e: true, f: false }],
  ["a: ~\nb: null\nc:\nd: Null", { a: null, b: null, c: null, d: null }],
  [
    "a: 0777\nb: 0o777\nc: 0x1F\nd: 0b11\ne: -0b11\nf: 1_000\ng: 08\nh: +1",
    { a: 511, b: 511, c: 31, d: 3, e: -3, f: 1000, g: 8, h: 1 },
  ],
  ["a: 1e3\nb: .5\nc: 1.\nd: 1e400", { a: 1000, b: 0.5, c: 1, d: "1e400" }],
  [
    "a: 1:30\nb: 190:20:30\nc: 2026-01-02\nd: 2026-01-02T03:04:05Z",
    { a: "1:30", b: "190:20:30", c: "2026-01-02", d: "2026-01-02T03:04:05Z" },
  ],
  ["a: 'yes'\nb: \"1\"\nc: !!str 1", { a: "yes", b: "1", c: "1" }],
  ["a: !!int '3'\nb: !!float 3\nc: !!binary aGk=\nd: !foo bar", { a: 3, b: 3, c: "hi", d: "bar" }],
  ["1: a\n1.5: b\ntrue: c\nno: d\n0x10: e", { 1: "a", "1.5": "b", true: "c", false: "d", 16: "e" }],
  ["a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2", { a: { b: 1 }, c: { b: 1 }, d: { b: 1, e: 2 } }],
  ["<<: {a: 1}\na: 2", { a: 2 }],
  ["a: 2\n<<: {a: 1}", { a: 1 }],
  ["<<: [{a: 1}, {a: 2, b: 3}]", { a: 1, b: 3 }],
  ['"<<": {a: 1}', { "<<": { a: 1 } }],
  ["a: |\n  x\n  y\nb: >-\n  x\n  y", { a: "x\ny\n", b: "x y" }],
  ["# nothing", null],
  ["--- a\n--- b", "a"],
  ["__proto__: {x: 1}", JSON.parse('{"__proto__": {"x": 1}}')],
];
for (const [yaml, value] of read)
  test(`read: ${JSON.stringify(yaml)}`, () => assert.deepEqual(parseYaml(yaml).value, value));

test("aliases are copies: changing one leaves the other", () => {
  const { a, b } = parseYaml("a: &x {k: [1]}\nb: *x").value as { a: { k: number[] }; b: { k: number[] } };
  a.k.push(2);
  assert.deepEqual(b, { k: [1] });
});

test("of keys that stand twice the last one counts, and all are told", () => {
  const { value, duplicates } = parseYaml("a: 1\nb:\n  c: 1\n  c: 2\na: 3");
  assert.deepEqual(value, { a: 3, b: { c: 2 } });
  assert.deepEqual(duplicates, ['line 4: key "c" already set in map', 'line 5: key "a" already set in map']);
});

test("a text full of faults is told of a hundred of them", () => {
  const { duplicates } = parseYaml("k: 1\n".repeat(5000));
  assert.equal(duplicates.length, 100);
  assert.equal(duplicates[99], 'line 101: key "k" already set in map');
});

test("all documents of a stream are read", () => {
  assert.deepEqual(
    parseYamlDocuments("a: 1\n---\nb: 2\n---\n").map(({ value }) => value),
    [{ a: 1 }, { b: 2 }, null],
  );
});

const bomb = [
  "a: &a [x, x, x, x, x, x, x, x, x, x]",
  ..."bcdefgh".split("").map((name, i) => `${name}: &${name} [${Array(10).fill(`*${"abcdefgh"[i]}`).join(", ")}]`),
].join("\n");
const refused: readonly [yaml: string, message: RegExp][] = [
  [bomb, /excessive aliasing/],
  [`a: &a ${"x".repeat(100_000)}\nb: [${Array(40).fill("*a").join(", ")}]`, /excessive aliasing/],
  ["&a [*a]", /anchor 'a' value contains itself/],
  ["a: *b", /unidentified alias|unknown anchor/],
  ["null: x", /key is null/],
  ["? [a]\n: b", /a key is a list or a map/],
  ["<<: 1", /map merge requires map or sequence of maps/],
  ["a: !!int x", /cannot decode !!str `x` as a !!int/],
  ["a: .inf", /JSON has no number/],
  ["a: [", /invalid YAML: line/],
  ["[".repeat(2000), /invalid YAML/],
  ["a: !!binary '*'", /invalid base64/],
];
for (const [yaml, message] of refused)
  test(`refused: ${JSON.stringify(yaml.slice(0, 40))}`, () =>
    assert.throws(
      () => parseYaml(yaml),
      (error) => error instanceof DecodeError && message.test(error.message),
    ));

const written: readonly [value: unknown, yaml: string][] = [
  [{ b: 1, a: "x" }, "a: x\nb: 1\n"],
  [{ a: [1, { b: 2, c: [3] }], d: {}, e: [] }, "a:\n- 1\n- b: 2\n  c:\n  - 3\nd: {}\ne: []\n"],
  [[[1, [2]], { a: null }], "- - 1\n  - - 2\n- a: null\n"],
  [
    { a: "yes", b: "null", c: "1", d: "0x1", e: "1:30", f: "2026-01-02T03:04:05Z", g: "" },
    'a: "yes"\nb: "null"\nc: "1"\nd: "0x1"\ne: "1:30"\nf: "2026-01-02T03:04:05Z"\ng: ""\n',
  ],
  [
    { a: "a: b", b: "#c", c: "- x", d: "it's", e: "'q'", f: " x", g: "a:b", h: "{a}", i: "*" },
    "a: 'a: b'\nb: '#c'\nc: '- x'\nd: it's\ne: '''q'''\nf: ' x'\ng: a:b\nh: '{a}'\ni: '*'\n",
  ],
  [
    { a: "x\ny\n", b: "x\ny", c: "x\n\n", d: " x\ny", e: "x \ny" },
    'a: |\n  x\n  y\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: |2-\n   x\n  y\ne: "x \\ny"\n',
  ],
  [{ a: "\t", b: "😀", c: "é", d: "\u0000\u001b" }, 'a: "\\t"\nb: "\\U0001F600"\nc: é\nd: "\\0\\e"\n'],
  [{ a10: 1, a9: 2, A: 3, "1": 4, "a-b": 5, ab: 6 }, '"1": 4\nA: 3\na-b: 5\na9: 2\na10: 1\nab: 6\n'],
  [
    { a: 1e21, b: 1234567.5, c: 0.00001, d: 1000000, e: 0.5 },
    "a: 1e+21\nb: 1.2345675e+06\nc: 1e-05\nd: 1000000\ne: 0.5\n",
  ],
  [{ a: "word ".repeat(20).trim() }, `a: ${"word ".repeat(15)}word\n  word word word word\n`],
  [{ ["k".repeat(129)]: 1 }, `? ${"k".repeat(129)}\n: 1\n`],
];
for (const [value, yaml] of written) test(`written: ${yaml.slice(0, 60)}`, () => assert.equal(printYaml(value), yaml));

test("whatever JSON can say is read again as it was written", () => {
  const objects = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ stringUnit: "binary" }), {
    noNullPrototype: true,
  });
  fc.assert(
    fc.property(objects, (drawn) => {
      const value: unknown = JSON.parse(JSON.stringify(drawn));
      assert.deepEqual(parseYaml(printYaml(value)).value, value);
    }),
    { numRuns: 1000 },
  );
});

test("random and damaged text is read or refused, nothing else", () => {
  const survives = (text: string) => {
    try {
      parseYaml(text);
    } catch (error) {
      assert.ok(error instanceof DecodeError, String(error));
    }
  };
  const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
  const pieces = fc.constantFrom(
    "a",
    ": ",
    "\n",
    "  ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "&x ",
    "*x",
    "<<: ",
    "!!",
    "!!int ",
    "|",
    ">",
    "'",
    '"',
    "#",
    "? ",
    "---\n",
    "%",
    "\t",
    "0",
    "~",
    "\u0000",
    "é",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => survives(parts.join(""))),
    { numRuns: 8000 },
  );
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 60 }), survives), { numRuns: 2000 });
  assert.equal(JSON.stringify(Object.getOwnPropertyNames(Object.prototype)), prototype);
});
