import assert from "node:assert/strict";
import { test } from "node:test";
import { Attempts } from "./attempts.ts";
import { asking, Scenario } from "./testing/scenario.ts";

function tried(scenario: Scenario, attempts: Attempts, cpu: string) {
  const pod = scenario.pod(asking({ cpu }));
  const attempt = scenario.cycle.begin(scenario.profile, pod);
  const result = scenario.cycle.place(attempt);
  assert.ok("veto" in result);
  attempts.note(pod, result, attempt.verdicts, `no room for ${cpu}`, 5);
  return pod;
}

test("what was said of each node is kept for a pod that waits", () => {
  const scenario = new Scenario();
  scenario.node("a");
  scenario.node("b", { spec: { unschedulable: true } });
  const attempts = new Attempts();
  const first = tried(scenario, attempts, "9");
  const second = tried(scenario, attempts, "9");
  assert.deepEqual(attempts.of(first), {
    at: 5,
    message: "no room for 9",
    nodes: 2,
    verdicts: [
      { node: "a", plugin: "NodeResourcesFit", reasons: ["Insufficient cpu"], stuck: true },
      { node: "b", plugin: "NodeUnschedulable", reasons: ["node(s) were unschedulable"], stuck: true },
    ],
  });
  attempts.forget(first.uid);
  assert.equal(attempts.of(first), undefined);
  assert.equal(attempts.of(second)?.verdicts?.length, 2);
});

test("what differs from the pod before is kept by itself", () => {
  const scenario = new Scenario();
  scenario.node("a");
  scenario.pod(asking({ cpu: "3" }), "a");
  const attempts = new Attempts();
  const stuck = tried(scenario, attempts, "9");
  const curable = tried(scenario, attempts, "2");
  assert.equal(attempts.of(stuck)?.verdicts?.[0]?.stuck, true);
  assert.equal(attempts.of(curable)?.verdicts?.[0]?.stuck, false);
});

test("of too many verdicts the oldest are given up, what was reported is not", () => {
  const scenario = new Scenario();
  for (let i = 0; i < 10; i++) scenario.node(`n${i}`);
  const attempts = new Attempts(25);
  const pods = ["5", "6", "7"].map((cpu, i) => {
    scenario.node(`more-${i}`); // so that no two are told the same
    return tried(scenario, attempts, cpu);
  });
  assert.deepEqual(
    pods.map((pod) => attempts.of(pod)?.verdicts?.length),
    [undefined, 12, 13],
  );
  assert.equal(pods[0] && attempts.of(pods[0])?.message, "no room for 5");
});
