import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeText } from "./decode.ts";
import { list, map, ref, string } from "./field.ts";
import { invalid, problemText } from "./problem.ts";
import { sentAs, sentEmpty } from "./sent-empty.ts";
import { struct } from "./struct.ts";
import { validateObject } from "./validate.ts";

const Part = struct("t/v1.Part", { labels: map(1, "string"), fixed: list(2, "string").immutable() });
const Whole = struct(
  "t/v1.Whole",
  { part: ref(1, Part), names: list(2, "string"), zone: string(3) },
  {
    *check() {
      yield invalid("names", "are refused");
      yield invalid("part.labels", "are refused");
    },
  },
);
const told = (text: string, old?: object): readonly string[] =>
  validateObject(Whole, decodeText(Whole, text).object, old).map(problemText);

test("a refusal shows a list or a map that was sent empty as it was sent, and one that was not sent as null", () => {
  assert.deepEqual(told('{"names":[],"part":{"labels":{}}}'), [
    "names: Invalid value: []: are refused",
    "part.labels: Invalid value: {}: are refused",
  ]);
  assert.deepEqual(told('{"names":null,"part":{}}'), [
    "names: Invalid value: null: are refused",
    "part.labels: Invalid value: null: are refused",
  ]);
  const [fixed] = told('{"part":{"fixed":[]}}', { part: { fixed: ["a"] } });
  assert.equal(fixed, "part.fixed: Invalid value: []: field is immutable");
});

test("what was sent empty is not in the object, and copies know of it only if they are told", () => {
  const { object } = decodeText(Whole, '{"names":[],"zone":""}');
  assert.deepEqual(object, {});
  assert.deepEqual(sentEmpty(object, "names"), []);
  assert.equal(sentEmpty(object, "zone"), undefined);
  assert.equal(sentEmpty({ ...object }, "names"), undefined);
  assert.deepEqual(sentEmpty(sentAs(object, { ...object }), "names"), []);
});
