// JSONPath expressions print and refuse what the real kubectl prints and refuses.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { KubectlError } from "../../src/kubectl/errors.ts";
import { jsonPathPrinter } from "../../src/kubectl/printers/json-path.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { type RecordedCase, reasonOf, runWith } from "./cases/record.ts";
import { object, pathText } from "./cases/template-text.ts";

const recorded: readonly RecordedCase[] = JSON.parse(
  readFileSync(new URL("cases/jsonpath.json", import.meta.url), "utf8"),
);

/** What differs, and why that is right. */
const differences: Readonly<Record<string, string>> = {
  "": "an empty template is refused before it is parsed",
  "{range .spec.list[*]}x": "a range without an end: upstream goes on behind the last node and prints that once more",
  "{range .spec.maps[*]}{range @.*}<{@}>{end}": "Go visits the values of a map in no order",
  "{.spec.maps[?(@.w>1.0)].name}": "a whole number of a path is an integer to us, however it is written",
  "{'bad \\q'}": "the text that cannot be unquoted is shown in quotes of ours",
  "{.spec..}": "upstream takes a text for a list of its bytes, so that `..` visits texts, too",
  "{.spec.text.*}": "upstream takes a text for a list of its bytes",
  "{range .spec.mixed[*]}<{@}>{end}": "null is printed as null, also inside of a range",
};

/** Of a map with several keys Go visits the values in any order. */
const hasAnyOrder = (expression: string): boolean => /\.\.|\*/.test(expression);
const letters = (text: string): string => [...text].toSorted().join("");

/** Errors that show the object they are about show it as JSON. */
const isAboutObject = (error: string): boolean => / is not array or slice and cannot be filtered$/.test(error);

function run(expression: string): RecordedCase {
  let output = "";
  let error = "";
  try {
    const printer = jsonPathPrinter(expression, { allowMissingKeys: true, asJson: false });
    printer.print(object, (part) => {
      output += Buffer.from(part).toString("latin1");
    });
  } catch (caught) {
    assert(caught instanceof KubectlError, `${expression}: ${caught}`);
    error = reasonOf(`error: ${caught.message}`, expression);
  }
  return { expression, output, error };
}

test("JSONPath prints and refuses what the real kubectl does", () => {
  assert(recorded.length >= 500);
  for (const one of recorded) {
    const { expression } = one;
    if (differences[expression] !== undefined) continue;
    const ours = run(expression);
    if (isAboutObject(one.error)) assert(isAboutObject(ours.error), expression);
    else if (hasAnyOrder(expression)) assert.equal(letters(ours.output), letters(one.output), expression);
    else assert.deepEqual(ours, one);
  }
});

test("the record of JSONPath is what the newest kubectl of this machine prints", async (t) => {
  const kubectl = findKubectls().at(-1);
  if (!kubectl) return t.skip("there is no kubectl");
  for (const one of recorded.filter((_, i) => i % 50 === 1))
    assert.deepEqual(await runWith(kubectl.path, "jsonpath", one.expression), one);
});

test("no JSONPath expression brings the engine down", () => {
  fc.assert(
    fc.property(pathText, (text) => {
      run(text);
    }),
    { numRuns: 3000 },
  );
});
