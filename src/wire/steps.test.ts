import assert from "node:assert/strict";
import { test } from "node:test";
import { type DoneStep, formatSteps, parseSteps } from "./steps.ts";

const steps: readonly DoneStep[] = [
  { step: "sandbox", at: 1_767_225_600_123, ms: 12.3 },
  { step: "image-pulled", container: "web", at: 1_767_225_600_400, ms: 277 },
  { step: "start", container: "web", at: 1_767_225_600_400, ms: 0 },
];

test("steps are told in one line, and read from it", () => {
  const text = "sandbox@1767225600123+12.3,image-pulled/web@1767225600400+277,start/web@1767225600400";
  assert.equal(formatSteps(steps), text);
  assert.deepEqual(parseSteps(text), steps);
});

test("of steps that make no sense nothing is read, and of too many the first", () => {
  assert.deepEqual(parseSteps("dance@1,sandbox,sandbox@x,start/Web@1,sandbox@-1,,@1,toString@1"), []);
  assert.equal(parseSteps(Array(200).fill("sandbox@1").join(",")).length, 64);
});
