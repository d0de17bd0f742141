import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

test("a program with a cluster in it creates a deployment, tells of its pods, and ends", async () => {
  const { stdout } = await promisify(execFile)("tools/node", ["examples/01-one-process/main.ts"]);
  const lines = stdout.trim().split("\n");
  assert.equal(lines.length, 3, stdout);
  for (const line of lines) assert.match(line, /^web-\w+-\w+ is Running on sim-[01] at 10\.128\.\d+\.\d+$/);
});
