import assert from "node:assert/strict";
import { test } from "node:test";
import { lately, podRunning } from "../testing.ts";
import { podReason } from "./pod.ts";

test("why says what helps a container that was out of memory, though it runs again", () => {
  const lastState = { terminated: { exitCode: 137, reason: "OOMKilled", finishedAt: lately } };
  const facts = podRunning(
    { ready: true, restartCount: 1, state: { running: { startedAt: lately } }, lastState },
    {},
    {},
    { conditions: [{ type: "Ready", status: "True" }] },
  );
  const { code, remedies = [] } = podReason(facts);
  assert.equal(code, "OutOfMemory");
  assert.equal(remedies[0], "give it a higher memory limit, or find out what it uses the memory for");
});
