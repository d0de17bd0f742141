// Templates print and refuse what the real kubectl prints and refuses, and no template brings the engine down.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { bytesOf } from "../../src/kubectl/go/value.ts";
import { TemplateError } from "../../src/kubectl/template/error.ts";
import { compileTemplate } from "../../src/kubectl/template/template.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { type RecordedCase, runWith } from "./cases/record.ts";
import { object, templateText } from "./cases/template-text.ts";

const recorded: readonly RecordedCase[] = JSON.parse(
  readFileSync(new URL("cases/go-template.json", import.meta.url), "utf8"),
);

function run(expression: string): RecordedCase {
  let output = "";
  let error = "";
  try {
    compileTemplate("output", expression, { mostSteps: 100_000 }).execute(object, (part) => {
      output += Buffer.from(bytesOf(part)).toString("latin1");
    });
  } catch (caught) {
    assert(caught instanceof TemplateError, `${expression}: ${caught}`);
    error = caught.message;
  }
  return { expression, output, error };
}

/** Go names the types since 1.25; the kubectl that recorded the cases is older. */
const withoutTypes = (one: RecordedCase): RecordedCase => ({
  ...one,
  error: one.error.replace(/(incompatible types for comparison): .*/, "$1"),
});

test("templates print and refuse what the real kubectl does", () => {
  assert(recorded.length > 500);
  // An empty template is refused before it is parsed.
  for (const one of recorded)
    if (one.expression !== "") assert.deepEqual(withoutTypes(run(one.expression)), withoutTypes(one));
});

test("the record is what the newest kubectl of this machine prints", async (t) => {
  const kubectl = findKubectls().at(-1);
  if (!kubectl) return t.skip("there is no kubectl");
  const some = recorded.filter(({ expression }, i) => i % 60 === 1 && !expression.includes("eq "));
  for (const one of some) {
    const { output, error } = await runWith(kubectl.path, "go-template", one.expression);
    assert.deepEqual({ output, error }, { output: one.output, error: one.error }, one.expression);
  }
});

test("a template that calls itself or counts without end is ended", () => {
  assert.match(run('{{define "x"}}{{template "x"}}{{end}}{{template "x"}}').error, /exceeded maximum template depth/);
  assert.match(run(`{{range 9223372036854775807}}{{end}}`).error, /exceeded maximum steps/);
  assert.match(run(`${"{{if true}}".repeat(5000)}`).error, /max expression depth exceeded/);
  assert.match(run(`{{${"(".repeat(5000)}`).error, /max expression depth exceeded/);
});

test("no template brings the engine down", () => {
  fc.assert(
    fc.property(templateText, (text) => {
      run(text);
    }),
    { numRuns: 3000 },
  );
});
