import assert from "node:assert/strict";
import { test } from "node:test";
import { nodesToFind } from "./cycle.ts";
import { schedulerPlugin } from "./framework.ts";
import { defaultPlugins } from "./plugins/list.ts";
import { asking, Scenario } from "./testing/scenario.ts";

const found: readonly [nodes: number, percentage: number, wanted: number][] = [
  [10, 0, 10],
  [99, 30, 99],
  [100, 0, 100],
  [500, 0, 230],
  [1000, 0, 420],
  [5000, 0, 500],
  [6000, 0, 300],
  [1000, 40, 400],
  [1000, 5, 100],
  [5000, 100, 5000],
];
for (const [nodes, percentage, wanted] of found)
  test(`of ${nodes} nodes, ${percentage || "no set"} percent: ${wanted} are enough to choose from`, () => {
    assert.equal(nodesToFind(nodes, percentage), wanted);
  });

test("nodes take turns in being looked at", () => {
  const scenario = new Scenario();
  for (let i = 0; i < 300; i++) scenario.node(`n${i}`);
  const seen = new Set<string>();
  for (let i = 0; i < 3; i++) {
    scenario.place(scenario.pod(asking({ cpu: "1" })));
    for (const name of scenario.cycle.totals().keys()) seen.add(name);
  }
  assert.equal(seen.size, 300);
});

test("among equally good nodes chance decides, and a seed repeats it", () => {
  const choices = (seed: number) => {
    const scenario = new Scenario({ seed });
    for (let i = 0; i < 8; i++) scenario.node(`n${i}`);
    return Array.from({ length: 20 }, () => {
      const result = scenario.place(scenario.pod());
      return "node" in result ? result.node.name : "";
    });
  };
  assert.ok(new Set(choices(1)).size > 4);
  assert.deepEqual(choices(1), choices(1));
  assert.notDeepEqual(choices(1), choices(2));
});

test("a plugin that scores beyond the range fails the attempt, and is named", () => {
  const greedy = schedulerPlugin({ name: "Greedy", score: () => 101 });
  const scenario = new Scenario({ plugins: [...defaultPlugins, { name: "Greedy", make: () => greedy }] });
  scenario.node("a");
  scenario.node("b");
  assert.throws(() => scenario.place(scenario.pod()), /plugin "Greedy" returns an invalid score 101/);
});

test("a pod that has a node nominated goes there, if it still can", () => {
  const scenario = new Scenario();
  for (const name of ["a", "b", "c"]) scenario.node(name);
  const pod = scenario.pod(asking({ cpu: "2" }));
  scenario.nominations.set(pod, "b");
  const first = scenario.place(pod);
  assert.equal("node" in first && first.node.name, "b");
  scenario.pod(asking({ cpu: "3" }), "b");
  const second = scenario.place(pod);
  assert.ok("node" in second && second.node.name !== "b");
});
