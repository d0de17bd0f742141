// What a node says of itself, and what a pod says of nodes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeSelectorTerm, Toleration } from "#api/core/v1/affinity.ts";
import type { Node, Taint } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Draft } from "#schema/infer.ts";
import { Scenario } from "../testing/scenario.ts";

const refusal = (node: Draft<Node>, spec: Draft<Pod["spec"]>, configuration = {}): readonly string[] => {
  const scenario = new Scenario({ configuration });
  scenario.node("a", node);
  return scenario.refusals(scenario.pod({ spec })).a ?? [];
};

test("a cordoned node takes only pods that tolerate it", () => {
  const cordoned = { spec: { unschedulable: true } };
  assert.deepEqual(refusal(cordoned, {}), ["node(s) were unschedulable"]);
  const toleration = { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" } as const;
  assert.deepEqual(refusal(cordoned, { tolerations: [toleration] }), []);
});

test("a pod that names its node is taken by no other", () => {
  assert.deepEqual(refusal({}, { nodeName: "b" }), ["node(s) didn't match the requested node name"]);
  assert.deepEqual(refusal({}, { nodeName: "a" }), []);
});

const dedicated: Taint = { key: "dedicated", value: "user1", effect: "NoSchedule" };
const taints: readonly [string, readonly Taint[], readonly Toleration[], boolean][] = [
  ["no taints, no tolerations", [], [], true],
  ["a taint that is not tolerated", [dedicated], [], false],
  ["a taint that is tolerated by value", [dedicated], [{ key: "dedicated", operator: "Equal", value: "user1" }], true],
  ["a taint of another value", [dedicated], [{ key: "dedicated", operator: "Equal", value: "user2" }], false],
  ["a taint that is tolerated whatever its value", [dedicated], [{ key: "dedicated", operator: "Exists" }], true],
  ["a taint of another key", [dedicated], [{ key: "other", operator: "Exists" }], false],
  ["everything is tolerated", [dedicated, { key: "x", effect: "NoExecute" }], [{ operator: "Exists" }], true],
  [
    "an effect that is not tolerated",
    [dedicated],
    [{ key: "dedicated", operator: "Exists", effect: "NoExecute" }],
    false,
  ],
  [
    "one of two taints is not tolerated",
    [dedicated, { key: "x", effect: "NoExecute" }],
    [{ key: "x", operator: "Exists" }],
    false,
  ],
  ["a taint that only asks to be avoided", [{ key: "x", effect: "PreferNoSchedule" }], [], true],
  [
    "a numeric comparison, which is off",
    [{ key: "x", value: "5", effect: "NoSchedule" }],
    [{ key: "x", operator: "Gt", value: "1" }],
    false,
  ],
];
for (const [name, on, tolerations, fits] of taints)
  test(`a pod and the taints of a node: ${name}`, () => {
    const expected = fits ? [] : ["node(s) had untolerated taint(s)"];
    assert.deepEqual(refusal({ spec: { taints: on } }, { tolerations }), expected);
  });

test("nodes with fewer taints to avoid are preferred", () => {
  const scenario = new Scenario();
  const avoid = (key: string) => ({ key, effect: "PreferNoSchedule" as const });
  scenario.node("none");
  scenario.node("tolerated", { spec: { taints: [avoid("a")] } });
  scenario.node("one", { spec: { taints: [avoid("a"), avoid("b")] } });
  scenario.node("two", { spec: { taints: [avoid("b"), avoid("c")] } });
  const pod = scenario.pod({ spec: { tolerations: [{ key: "a", operator: "Exists" }] } });
  assert.deepEqual(scenario.scores("TaintToleration", pod), { none: 100, tolerated: 100, one: 50, two: 0 });
});

const labels = { metadata: { labels: { zone: "east", size: "12" } } };
const terms: readonly [string, readonly NodeSelectorTerm[], boolean][] = [
  [
    "a value that is in the list",
    [{ matchExpressions: [{ key: "zone", operator: "In", values: ["west", "east"] }] }],
    true,
  ],
  ["a value that is not", [{ matchExpressions: [{ key: "zone", operator: "In", values: ["west"] }] }], false],
  ["a value that must not be", [{ matchExpressions: [{ key: "zone", operator: "NotIn", values: ["east"] }] }], false],
  ["a label that must be there", [{ matchExpressions: [{ key: "gpu", operator: "Exists" }] }], false],
  ["a label that must not be there", [{ matchExpressions: [{ key: "gpu", operator: "DoesNotExist" }] }], true],
  ["a greater number", [{ matchExpressions: [{ key: "size", operator: "Gt", values: ["9"] }] }], true],
  ["a smaller number", [{ matchExpressions: [{ key: "size", operator: "Lt", values: ["9"] }] }], false],
  [
    "two conditions of which one fails",
    [
      {
        matchExpressions: [
          { key: "zone", operator: "Exists" },
          { key: "gpu", operator: "Exists" },
        ],
      },
    ],
    false,
  ],
  [
    "two terms of which one holds",
    [
      { matchExpressions: [{ key: "gpu", operator: "Exists" }] },
      { matchExpressions: [{ key: "zone", operator: "Exists" }] },
    ],
    true,
  ],
  ["a term that says nothing", [{}], false],
  ["a term that has no meaning", [{ matchExpressions: [{ key: "zone", operator: "In", values: [] }] }], false],
  [
    "one without meaning beside one that holds",
    [
      { matchExpressions: [{ key: "size", operator: "Gt", values: ["x"] }] },
      { matchExpressions: [{ key: "zone", operator: "Exists" }] },
    ],
    true,
  ],
  ["its name", [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["a"] }] }], true],
  ["any name but its own", [{ matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["a"] }] }], false],
];
for (const [name, nodeSelectorTerms, fits] of terms)
  test(`a pod selects a node by ${name}`, () => {
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    const expected = fits ? [] : ["node(s) didn't match Pod's node affinity/selector"];
    assert.deepEqual(refusal(labels, { affinity: { nodeAffinity } }), expected);
  });

test("a node must have all labels of a node selector, and meet the affinity, too", () => {
  assert.deepEqual(refusal(labels, { nodeSelector: { zone: "east", size: "12" } }), []);
  assert.deepEqual(refusal(labels, { nodeSelector: { zone: "east", size: "1" } }).length, 1);
});

test("pods that select nodes by name are tried on no others", () => {
  const scenario = new Scenario();
  for (const name of ["a", "b", "c"]) scenario.node(name);
  const byName = (values: string[]) => ({ matchFields: [{ key: "metadata.name", operator: "In" as const, values }] });
  const selecting = (...nodeSelectorTerms: NodeSelectorTerm[]) =>
    scenario.pod({
      spec: { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } },
    });
  const refused = (pod: ReturnType<typeof selecting>) => Object.entries(scenario.refusals(pod)).map(String);
  assert.deepEqual(refused(selecting(byName(["a"]), byName(["c"]))), ["b,left out"]);
  const twice = { matchFields: [...byName(["a"]).matchFields, ...byName(["b"]).matchFields] };
  assert.deepEqual(
    scenario.message(selecting(twice)),
    "0/3 nodes are available: pod affinity terms conflict. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
  );
  scenario.pod(selecting(byName(["gone"])).pod, undefined);
  assert.match(
    scenario.message(selecting(byName(["gone"]))),
    /^0\/3 nodes are available: 3 node\(s\) didn't satisfy plugin\(s\) \[NodeAffinity\]\./,
  );
});

test("a profile's own affinity holds for all its pods", () => {
  const affinity = (value: string) => ({
    addedAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: [value] }] }],
      },
    },
  });
  const configured = (value: string) => ({
    profiles: [{ pluginConfig: [{ name: "NodeAffinity", args: affinity(value) }] }],
  });
  assert.deepEqual(refusal(labels, {}, configured("west")), ["node(s) didn't match scheduler-enforced node affinity"]);
  assert.deepEqual(refusal(labels, {}, configured("east")), []);
});

test("nodes are preferred by the weights of the terms they match", () => {
  const scenario = new Scenario();
  scenario.node("both", { metadata: { labels: { zone: "east", disk: "fast" } } });
  scenario.node("one", { metadata: { labels: { zone: "east" } } });
  scenario.node("none");
  const has = (key: string, weight: number) => ({
    weight,
    preference: { matchExpressions: [{ key, operator: "Exists" as const }] },
  });
  const pod = scenario.pod({
    spec: {
      affinity: {
        nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [has("zone", 20), has("disk", 40)] },
      },
    },
  });
  assert.deepEqual(scenario.scores("NodeAffinity", pod), { both: 100, one: 33, none: 0 });
  assert.deepEqual(scenario.scores("NodeAffinity", scenario.pod()), {}, "a pod without wishes has no preference");
});

test("a pod that needs what its node's kubelet does not declare goes elsewhere", () => {
  const spec = { hostNetwork: true, hostUsers: false };
  assert.deepEqual(refusal({}, spec), ["node(s) didn't match Pod's required features"]);
  assert.deepEqual(refusal({ status: { declaredFeatures: ["UserNamespacesHostNetworkSupport"] } }, spec), []);
});

test("nodes that have the images of a pod are preferred, the larger and the more spread the more", () => {
  const scenario = new Scenario();
  const mebibytes = (names: string[], size: number) => ({ names, sizeBytes: size * 1024 * 1024 });
  scenario.node("both", { status: { images: [mebibytes(["app:latest"], 1000), mebibytes(["small:1"], 40)] } });
  scenario.node("small", { status: { images: [mebibytes(["small:1"], 40)] } });
  scenario.node("none");
  const pod = scenario.pod({ spec: { containers: [{ name: "a", image: "app" }] } });
  assert.deepEqual(scenario.scores("ImageLocality", pod), { both: 31, small: 0, none: 0 });
  const other = scenario.pod({ spec: { containers: [{ name: "a", image: "elsewhere" }] } });
  assert.deepEqual(scenario.scores("ImageLocality", other), {});
});
