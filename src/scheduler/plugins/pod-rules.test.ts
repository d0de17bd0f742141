// What pods say of each other: affinity, anti-affinity and spreading.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import type { PodAffinityTerm, TopologySpreadConstraint } from "#api/core/v1/affinity.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import type { Draft } from "#schema/infer.ts";
import { Scenario } from "../testing/scenario.ts";

const zone = "topology.kubernetes.io/zone";
const host = "kubernetes.io/hostname";
const app = (name: string) => ({ matchLabels: { app: name } });
const labelled = (name: string, more: Draft<Pod> = {}): Draft<Pod> => ({
  ...more,
  metadata: { ...more.metadata, labels: { app: name, ...more.metadata?.labels } },
});
const near = (...terms: PodAffinityTerm[]) => ({
  podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms },
});
const apart = (...terms: PodAffinityTerm[]) => ({
  podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms },
});

/** Nodes a and b in the zone east, c in west, d in none. */
function places(): Scenario {
  const scenario = new Scenario();
  for (const [name, value] of Object.entries({ a: "east", b: "east", c: "west" }))
    scenario.node(name, { metadata: { labels: { [zone]: value } } });
  scenario.node("d");
  return scenario;
}
const allowed = (scenario: Scenario, pod: Draft<Pod>): string => {
  const refused = scenario.refusals(scenario.pod(pod));
  return ["a", "b", "c", "d"].filter((name) => refused[name] === undefined).join("");
};

const db: PodAffinityTerm = { labelSelector: app("db"), topologyKey: zone };
const terms: readonly [string, Draft<Pod["spec"]>["affinity"], string][] = [
  ["near another, in its zone", near(db), "ab"],
  ["near another, on its node", near({ ...db, topologyKey: host }), "a"],
  ["near another that is nowhere", near({ ...db, labelSelector: app("gone") }), ""],
  ["near nobody, by a selector that selects nothing", near({ topologyKey: zone }), ""],
  ["near one of another namespace", near({ ...db, namespaces: ["other"] }), ""],
  ["near one of any namespace", near({ ...db, namespaceSelector: {} }), "ab"],
  [
    "near one of a namespace that is selected",
    near({ ...db, namespaceSelector: { matchLabels: { team: "x" } } }),
    "ab",
  ],
  [
    "near one of a namespace that is not selected",
    near({ ...db, namespaceSelector: { matchLabels: { team: "y" } } }),
    "",
  ],
  [
    "near two, which is one that both terms mean",
    near(db, { labelSelector: { matchExpressions: [{ key: "app", operator: "Exists" }] }, topologyKey: host }),
    "a",
  ],
  ["away from another, out of its zone", apart(db), "cd"],
  ["away from another, off its node", apart({ ...db, topologyKey: host }), "bcd"],
  ["away from nobody", apart({ ...db, labelSelector: app("gone") }), "abcd"],
];
for (const [name, affinity, expected] of terms)
  test(`a pod must be ${name}`, () => {
    const scenario = places();
    scenario.have(Namespace, { metadata: { name: "default", labels: { team: "x" } } });
    scenario.pod(labelled("db"), "a");
    assert.equal(allowed(scenario, labelled("web", { spec: { affinity } })), expected);
  });

test("the first of pods that must be near each other is placed anywhere with the label, the next near it", () => {
  const scenario = places();
  const spec = { affinity: near({ labelSelector: app("web"), topologyKey: zone }) };
  assert.equal(allowed(scenario, labelled("web", { spec })), "abc");
  scenario.pod(labelled("web", { spec }), "c");
  assert.equal(allowed(scenario, labelled("web", { spec })), "c");
});

test("pods that want to be kept apart from others are, by those who come later", () => {
  const scenario = places();
  const hermit = scenario.pod({ spec: { affinity: apart({ labelSelector: app("web"), topologyKey: zone }) } }, "a");
  assert.equal(allowed(scenario, labelled("web")), "cd");
  assert.equal(allowed(scenario, labelled("db")), "abcd");
  assert.equal(allowed(scenario, labelled("web", { metadata: { namespace: "other" } })), "abcd");
  assert.deepEqual(scenario.refusals(scenario.pod(labelled("web"))).a, [
    "node(s) didn't satisfy existing pods anti-affinity rules",
  ]);
  scenario.snapshot.removePod(hermit.uid);
  assert.equal(allowed(scenario, labelled("web")), "abcd");
});

test("a node that gets another label is at another place", () => {
  const scenario = places();
  scenario.pod(labelled("db"), "a");
  scenario.node("b", { metadata: { labels: { [zone]: "west" } } });
  assert.equal(allowed(scenario, { spec: { affinity: near(db) } }), "a");
});

test("wishes of a pod and of the pods that are there count for the nodes at their places", () => {
  const scenario = places();
  const rather = (labels: string, weight: number) => ({
    weight,
    podAffinityTerm: { labelSelector: app(labels), topologyKey: zone },
  });
  scenario.pod(labelled("db"), "a");
  scenario.pod(labelled("noisy"), "c");
  scenario.pod(
    labelled("fan", {
      spec: { affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [rather("web", 5)] } } },
    }),
    "c",
  );
  const pod = scenario.pod(
    labelled("web", {
      spec: {
        affinity: {
          podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [rather("db", 8)] },
          podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [rather("noisy", 7)] },
        },
      },
    }),
  );
  // East has 8, west 5 − 7, nowhere 0.
  assert.deepEqual(scenario.scores("InterPodAffinity", pod), { a: 100, b: 100, c: 0, d: 20 });
  assert.deepEqual(scenario.scores("InterPodAffinity", scenario.pod(labelled("other"))), {});
});

test("a pod that must be near others draws them, by the weight that is set", () => {
  const scenario = places();
  scenario.pod(labelled("db", { spec: { affinity: near({ labelSelector: app("web"), topologyKey: zone }) } }), "c");
  assert.deepEqual(scenario.scores("InterPodAffinity", scenario.pod(labelled("web"))), { a: 0, b: 0, c: 100, d: 0 });
});

const even = (more: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint => ({
  topologyKey: zone,
  maxSkew: 1,
  whenUnsatisfiable: "DoNotSchedule",
  labelSelector: app("web"),
  ...more,
});
/** In east two pods, in west one. */
const spread: readonly [string, TopologySpreadConstraint[], string, Draft<Pod>?][] = [
  ["over zones", [even()], "c"],
  ["with more room", [even({ maxSkew: 2 })], "abc"],
  ["without being counted itself", [even({ labelSelector: app("web") })], "abc", labelled("other")],
  ["by no selector", [even({ labelSelector: undefined })], "abc"],
  ["by a selector of everything, which counts nothing", [even({ labelSelector: {} })], "abc"],
  ["over zones and nodes", [even(), even({ topologyKey: host })], "c"],
  ["over more zones than there are", [even({ minDomains: 3 })], ""],
  ["over more zones than there are, with room", [even({ minDomains: 3, maxSkew: 2 })], "c"],
  [
    "with those of its version",
    [even({ matchLabelKeys: ["version"] })],
    "abc",
    labelled("web", { metadata: { labels: { version: "2" } } }),
  ],
  ["if possible", [even({ whenUnsatisfiable: "ScheduleAnyway" })], "abcd"],
];
for (const [name, constraints, expected, who = labelled("web")] of spread)
  test(`pods must be spread evenly ${name}`, () => {
    const scenario = places();
    scenario.pod(labelled("web"), "a");
    scenario.pod(labelled("web"), "b");
    scenario.pod(labelled("web"), "c");
    scenario.pod(labelled("web", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }), "c");
    scenario.pod(labelled("web", { metadata: { namespace: "other" } }), "c");
    assert.equal(allowed(scenario, { ...who, spec: { topologySpreadConstraints: constraints } }), expected);
  });

test("nodes a pod cannot use are left out where pods are spread, unless told otherwise", () => {
  const scenario = places();
  scenario.pod(labelled("web"), "a");
  scenario.node("e", {
    metadata: { labels: { [zone]: "north" } },
    spec: { taints: [{ key: "k", effect: "NoSchedule" }] },
  });
  const nodeSelector = { [zone]: "east" };
  const of = (constraint: TopologySpreadConstraint, more: Draft<Pod["spec"]> = {}) =>
    allowed(scenario, labelled("web", { spec: { topologySpreadConstraints: [constraint], ...more } }));
  assert.equal(of(even(), { nodeSelector }), "ab", "only east counts");
  assert.equal(of(even({ nodeAffinityPolicy: "Ignore" }), { nodeSelector }), "", "west is empty");
  scenario.pod(labelled("web"), "c");
  assert.equal(of(even()), "", "north is empty");
  assert.equal(of(even({ nodeTaintsPolicy: "Honor" })), "abc", "north is tainted");
});

test("nodes without a label that pods are spread by are refused for that", () => {
  const scenario = places();
  const pod = scenario.pod(labelled("web", { spec: { topologySpreadConstraints: [even()] } }));
  assert.deepEqual(scenario.refusals(pod).d, [
    "node(s) didn't match pod topology spread constraints (missing required label)",
  ]);
});

test("where even spreading is only wished for, emptier places are preferred", () => {
  const scenario = places();
  scenario.pod(labelled("web"), "a");
  scenario.pod(labelled("web"), "a");
  scenario.pod(labelled("web"), "c");
  const constraints = [even({ whenUnsatisfiable: "ScheduleAnyway" })];
  const pod = scenario.pod(labelled("web", { spec: { topologySpreadConstraints: constraints } }));
  // Counts times ln(2 zones + 2): 3 and 1; of 100 × (3 + 1 − count) / 3.
  assert.deepEqual(scenario.scores("PodTopologySpread", pod), { a: 33, b: 33, c: 100, d: 0 });
});

test("pods that say nothing are spread over nodes and zones with those that do the same work", () => {
  const scenario = places();
  scenario.have(Service, { metadata: { name: "web", namespace: "default" }, spec: { selector: { app: "web" } } });
  const pod = scenario.pod(labelled("web"));
  scenario.pod(labelled("web"), "a");
  const { a = 0, b = 0, c = 0, d = 0 } = scenario.scores("PodTopologySpread", pod);
  assert.ok(a < b && b < c, `${a} ${b} ${c} ${d}`);
  assert.deepEqual(scenario.scores("PodTopologySpread", scenario.pod(labelled("other"))), {});

  const set = scenario.have(ReplicaSet, {
    metadata: { name: "db", namespace: "default" },
    spec: { selector: app("db") },
  });
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "db", uid: set.metadata.uid, controller: true };
  scenario.pod(labelled("db"), "b");
  const owned = scenario.pod(labelled("db", { metadata: { ownerReferences: [owner] } }));
  const scores = scenario.scores("PodTopologySpread", owned);
  assert.ok((scores.b ?? 0) < (scores.a ?? 0), JSON.stringify(scores));
});
