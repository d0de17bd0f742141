import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/v1/pod.ts";
import { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import type { Draft } from "#schema/infer.ts";
import { asking, Scenario } from "../testing/scenario.ts";
import { leastHarm, victimsOn } from "./victims.ts";

interface Small {
  readonly cpu?: string;
  readonly priority?: number;
  readonly start?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

const small = (name: string, { cpu = "1", priority = 0, start, labels }: Small = {}): Draft<Pod> => ({
  ...asking({ cpu }, { priority }),
  metadata: { name, ...(labels && { labels }) },
  ...(start && { status: { startTime: start } }),
});
const boss = (cpu: string, more: Draft<Pod["spec"]> = {}) => asking({ cpu }, { priority: 100, ...more });

/** Who would have to go from node a. */
function victims(scenario: Scenario, pod: Draft<Pod>): string {
  const attempt = scenario.cycle.begin(scenario.profile, scenario.pod(pod));
  attempt.prepare();
  const node = scenario.snapshot.node("a");
  assert.ok(node);
  const budgets = scenario.context.cache.list(PodDisruptionBudget);
  const result = victimsOn(node, attempt, budgets, scenario.clock.now());
  if ("reason" in result) return result.reason;
  return `${result.victims.map(({ name }) => name).join(" ")} (${result.violations})`;
}

const cases: readonly [string, readonly Draft<Pod>[], Draft<Pod>, string][] = [
  [
    "nobody if all are as important",
    [small("a", { priority: 100 })],
    boss("4"),
    "No preemption victims found for incoming pod",
  ],
  [
    "nobody if that would not be enough",
    [small("a", { cpu: "1" }), small("b", { cpu: "3", priority: 100 })],
    boss("2"),
    "Insufficient cpu",
  ],
  ["one of two", [small("a", { cpu: "2" }), small("b", { cpu: "2" })], boss("2"), "b (0)"],
  [
    "the less important",
    [small("a", { cpu: "2", priority: 1 }), small("b", { cpu: "2", priority: 2 })],
    boss("1"),
    "a (0)",
  ],
  [
    "the younger of equals",
    [small("a", { cpu: "2", start: "2025-01-02T00:00:00Z" }), small("b", { cpu: "2", start: "2025-01-01T00:00:00Z" })],
    boss("1"),
    "a (0)",
  ],
  ["as many as it takes", [small("a"), small("b"), small("c"), small("d")], boss("3"), "b c d (0)"],
];
for (const [name, there, pod, expected] of cases)
  test(`to make room goes ${name}`, () => {
    const scenario = new Scenario();
    scenario.node("a");
    for (const one of there) scenario.pod(one, "a");
    assert.equal(victims(scenario, pod), expected);
  });

test("pods that a budget protects are sent away last, and counted", () => {
  const scenario = new Scenario();
  scenario.node("a");
  const labels = { app: "guarded" };
  scenario.pod(small("guarded", { cpu: "2", labels }), "a");
  scenario.pod(small("free", { cpu: "2", priority: 5 }), "a");
  scenario.have(PodDisruptionBudget, {
    metadata: { name: "guarded", namespace: "default" },
    spec: { selector: { matchLabels: labels } },
    status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  });
  assert.equal(victims(scenario, boss("2")), "free (0)");
  assert.equal(victims(scenario, boss("4")), "free guarded (1)");
});

test("what pods say of each other changes with who goes", () => {
  const scenario = new Scenario();
  scenario.node("a");
  const term = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "noisy" } } };
  scenario.pod(small("noisy", { labels: { app: "noisy" } }), "a");
  scenario.pod(small("quiet"), "a");
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  assert.equal(victims(scenario, boss("1", { affinity })), "noisy (0)");
});

test("the node is cleared where the least is lost", () => {
  const scenario = new Scenario();
  const now = scenario.clock.now();
  const candidate = (name: string, priorities: readonly number[], { violations = 0, start = "" } = {}) => {
    scenario.node(name);
    const node = scenario.snapshot.node(name);
    assert.ok(node);
    const pods = priorities.map((priority, i) =>
      scenario.pod(small(`${name}${i}`, { priority, ...(start && { start }) })),
    );
    return { node, victims: pods, violations };
  };
  const best = (...candidates: ReturnType<typeof candidate>[]) => leastHarm(candidates, now)?.node.name;
  assert.equal(best(candidate("a", [1], { violations: 1 }), candidate("b", [9, 9])), "b", "budgets first");
  assert.equal(best(candidate("a", [5]), candidate("b", [4, 4])), "b", "then the most important victim");
  assert.equal(best(candidate("a", [5, 2]), candidate("b", [5, 1])), "b", "then their sum");
  assert.equal(best(candidate("a", [-5, -5]), candidate("b", [-5])), "b", "of which each counts");
  assert.equal(
    best(
      candidate("a", [5], { start: "2025-01-01T00:00:00Z" }),
      candidate("b", [5], { start: "2025-01-02T00:00:00Z" }),
    ),
    "b",
    "then the youngest",
  );
  assert.equal(best(candidate("a", [5]), candidate("b", [5])), "a", "then the first");
});

test("people are told why nobody was sent away", () => {
  const scenario = new Scenario();
  scenario.node("full");
  scenario.node("small", { status: { allocatable: { cpu: "1" } } });
  scenario.node("cordoned", { spec: { unschedulable: true } });
  scenario.pod(small("other", { cpu: "4", priority: 200 }), "full");
  scenario.pod(small("idle", { cpu: "0" }), "small");
  assert.equal(
    scenario.message(scenario.pod(boss("2"))),
    "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. preemption: 0/3 nodes are available: " +
      "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.",
  );
});

test("room that was made for a pod is not taken by one of no higher priority", () => {
  const scenario = new Scenario();
  scenario.node("a");
  scenario.nominations.set(scenario.pod(small("waiting", { cpu: "3", priority: 5 })), "a");
  assert.deepEqual(scenario.refusals(scenario.pod(small("late", { cpu: "2", priority: 5 }))), {
    a: ["Insufficient cpu"],
  });
  assert.deepEqual(scenario.refusals(scenario.pod(small("fits", { cpu: "1" }))), {});
  assert.deepEqual(scenario.refusals(scenario.pod(small("above", { cpu: "2", priority: 6 }))), {});
});
