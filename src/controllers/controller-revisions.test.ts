import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { goJson } from "#schema/apply/value.ts";
import { htmlSafe } from "#schema/go-json.ts";
import { templatePatch } from "./controller-revisions.ts";

test("a revision's data has its keys in the order in which upstream writes them", () => {
  const template = {
    metadata: { labels: { b: "1", a: "2" }, annotations: undefined },
    spec: { terminationGracePeriodSeconds: 30, containers: [{ name: "web", image: "nginx", resources: {} }] },
  } as unknown as PodTemplateSpec;
  const patch = templatePatch(template);
  assert.equal(
    JSON.stringify(patch),
    '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"2","b":"1"}},' +
      '"spec":{"containers":[{"image":"nginx","name":"web","resources":{}}],"terminationGracePeriodSeconds":30}}}}',
  );
  assert.equal(JSON.stringify(patch), goJson(patch), "which is what is hashed");
});

test("so has that of any template, written as the server writes it", () => {
  const lines = readFileSync(`${import.meta.dirname}/testing/template-hashes.jsonl`, "utf8")
    .trim()
    .split("\n");
  for (const line of lines) {
    const patch = templatePatch((JSON.parse(line) as { template: PodTemplateSpec }).template);
    assert.equal(htmlSafe(JSON.stringify(patch)), goJson(patch));
  }
});
