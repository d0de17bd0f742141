import assert from "node:assert/strict";
import { test } from "node:test";
import { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { problemsOf } from "#api/testing/rules.ts";
import { addonNamed } from "./list.ts";
import { readManifest } from "./manifests.ts";

test("the definitions of the Gateway API are valid, and their rules cost no more than they may", () => {
  const files = addonNamed("gateway").definitions ?? [];
  assert.equal(files.length, 6);
  for (const file of files)
    for (const { object } of readManifest(file, {}))
      assert.deepEqual(problemsOf(CustomResourceDefinition, object), [], file);
});
