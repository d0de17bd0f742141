import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

test("controllers of one process make the pods of a deployment in the API server of another, and both end", async () => {
  const { stdout } = await promisify(execFile)("tools/node", ["examples/02-two-processes/main.ts"]);
  const lines = stdout.trim().split("\n");
  assert.equal(lines.length, 2, stdout);
  for (const line of lines) assert.match(line, /^web-\w+-\w+ was created$/);
});
