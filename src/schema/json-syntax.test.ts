import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { jsonSyntaxProblem } from "./json-syntax.ts";

const end = "unexpected end of JSON input";
const bad = (character: string, context: string) => `invalid character '${character}' ${context}`;

const cases: readonly [text: string, problem: string][] = [
  ["", end],
  [" \n", end],
  ["{", end],
  ['{"a"', end],
  ['{"a":', end],
  ['{"a":1', end],
  ["[1,", end],
  ['"abc', end],
  ['"\\', end],
  ['"\\u12', end],
  ["-", end],
  ["1.", end],
  ["1e", end],
  ["1e+", end],
  ["tru", end],
  ["x", bad("x", "looking for beginning of value")],
  ["{a:1}", bad("a", "looking for beginning of object key string")],
  ["{'a':1}", bad("\\'", "looking for beginning of object key string")],
  ['{"a" 1}', bad("1", "after object key")],
  ['{"a":1 "b":2}', bad('"', "after object key:value pair")],
  ['{"a":1,}', bad("}", "looking for beginning of object key string")],
  ["[1 2]", bad("2", "after array element")],
  ["[1,]", bad("]", "looking for beginning of value")],
  ["[1}", bad("}", "after array element")],
  ["{}{}", bad("{", "after top-level value")],
  ["01", bad("1", "after top-level value")],
  ["[01]", bad("1", "after array element")],
  ["-a", bad("a", "in numeric literal")],
  ["1.a", bad("a", "after decimal point in numeric literal")],
  ["1e*", bad("*", "in exponent of numeric literal")],
  ["+1", bad("+", "looking for beginning of value")],
  ["trie", bad("i", "in literal true (expecting 'u')")],
  ["nil", bad("i", "in literal null (expecting 'u')")],
  ["NaN", bad("N", "looking for beginning of value")],
  ['"a\nb"', bad("\\n", "in string literal")],
  ['"\u0001"', bad("\\x01", "in string literal")],
  ['"\\x"', bad("x", "in string escape code")],
  ['"\\u00g0"', bad("g", "in \\u hexadecimal character escape")],
  ["é", bad("Ã", "looking for beginning of value")],
  ["😀", bad("ð", "looking for beginning of value")],
  ["\u0000", bad("\\x00", "looking for beginning of value")],
  ["[[{]", bad("]", "looking for beginning of object key string")],
];
for (const [text, problem] of cases)
  test(`${JSON.stringify(text)}: ${problem}`, () => assert.equal(jsonSyntaxProblem(text), problem));

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test("a problem is found where V8 finds one, and nowhere else", () => {
  const pieces = fc.constantFrom(
    ..."{}[]:,\"\\ \n\t01-+.eEtfnul'x".split(""),
    '"a"',
    '"a":',
    "true",
    "null",
    "1.5e3",
    "\\u0041",
    "é",
  );
  const texts = fc.oneof(
    fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")),
    fc.tuple(fc.json(), fc.nat(), pieces).map(([text, at, piece]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + piece + text.slice(place);
    }),
    fc.json(),
  );
  fc.assert(
    fc.property(texts, (text) => assert.equal(jsonSyntaxProblem(text) === undefined, isJson(text))),
    { numRuns: 20_000 },
  );
});

test("depth is no danger", () => assert.equal(jsonSyntaxProblem("[".repeat(1_000_000)), end));
