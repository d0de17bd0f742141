import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/v1/service.ts";
import { defaultPlugins } from "../plugins/list.ts";
import { Scenario } from "../testing/scenario.ts";
import { oldPlugins } from "./old-plugins.ts";
import { readPolicy } from "./policy.ts";

const scenario = (policy: object) =>
  new Scenario({ configuration: readPolicy(policy, "policy"), plugins: [...defaultPlugins, ...oldPlugins] });
const namesOf = (steps: readonly { readonly plugin: { readonly name: string }; readonly weight: number }[]) =>
  steps.map(({ plugin, weight }) => `${plugin.name} ${weight}`);

test("a policy without predicates and priorities has those of old", () => {
  const { profile } = scenario({ kind: "Policy", apiVersion: "v1" });
  assert.deepEqual(
    namesOf(profile.filter).map((name) => name.split(" ")[0]),
    [
      "NodeDeclaredFeatures",
      "NodeUnschedulable",
      "TaintToleration",
      "DynamicResources",
      "VolumeZone",
      "NodeVolumeLimits",
      "InterPodAffinity",
      "VolumeRestrictions",
      "NodeResourcesFit",
      "NodeName",
      "NodePorts",
      "NodeAffinity",
      "VolumeBinding",
      "PodTopologySpread",
    ],
  );
  assert.deepEqual(namesOf(profile.score), [
    "PodTopologySpread 3",
    "InterPodAffinity 1",
    "NodeResourcesLeastAllocated 1",
    "NodeResourcesBalancedAllocation 1",
    "NodePreferAvoidPods 10000",
    "NodeAffinity 1",
    "TaintToleration 1",
    "ImageLocality 1",
  ]);
});

test("an empty policy keeps pods only off nodes that take none", () => {
  const cluster = scenario({ predicates: [], priorities: [] });
  cluster.node("closed", { spec: { unschedulable: true } });
  cluster.node("tiny", { status: { allocatable: { cpu: "1m" } } });
  const pod = cluster.pod({
    spec: { containers: [{ name: "app", image: "app", resources: { requests: { cpu: "8" } } }] },
  });
  assert.deepEqual(Object.keys(cluster.refusals(pod)), ["closed"]);
  assert.deepEqual(namesOf(cluster.profile.score), []);
});

test("labels of nodes are required, forbidden and preferred by arguments", () => {
  const cluster = scenario({
    predicates: [
      { name: "HasRack", argument: { labelsPresence: { labels: ["rack"], presence: true } } },
      { name: "NotRetired", argument: { labelsPresence: { labels: ["retired"] } } },
    ],
    priorities: [
      { name: "LikesGreen", weight: 2, argument: { labelPreference: { label: "green", presence: true } } },
      { name: "DislikesOld", weight: 3, argument: { labelPreference: { label: "old" } } },
    ],
  });
  cluster.node("plain");
  cluster.node("retired", { metadata: { labels: { rack: "1", retired: "" } } });
  cluster.node("green", { metadata: { labels: { rack: "1", green: "" } } });
  cluster.node("old", { metadata: { labels: { rack: "2", green: "", old: "" } } });
  assert.deepEqual(Object.keys(cluster.refusals(cluster.pod())).toSorted(), ["plain", "retired"]);
  assert.deepEqual(cluster.scores("NodeLabel", cluster.pod()), { plain: 50, retired: 50, green: 100, old: 50 });
  assert.deepEqual(namesOf(cluster.profile.score), ["NodeLabel 5"]);
});

test("pods of a service keep to one region and spread over racks where the policy says so", () => {
  const cluster = scenario({
    predicates: [{ name: "Region", argument: { serviceAffinity: { labels: ["region"] } } }],
    priorities: [{ name: "Racks", weight: 1, argument: { serviceAntiAffinity: { label: "rack" } } }],
  });
  const labels = { app: "web" };
  cluster.have(Service, { metadata: { name: "web", namespace: "default" }, spec: { selector: labels } });
  cluster.node("a", { metadata: { labels: { region: "r1", rack: "1" } } });
  cluster.node("b", { metadata: { labels: { region: "r1", rack: "2" } } });
  cluster.node("c", { metadata: { labels: { region: "r2", rack: "1" } } });
  assert.deepEqual(cluster.refusals(cluster.pod({ metadata: { labels } })), {});
  cluster.pod({ metadata: { labels } }, "a");
  const next = cluster.pod({ metadata: { labels } });
  assert.deepEqual(cluster.refusals(next), { c: ["node(s) didn't match service affinity"] });
  assert.deepEqual(cluster.scores("ServiceAffinity", next), { a: 0, b: 100, c: 0 });
});

test("a node says whose pods it would rather not have", () => {
  const cluster = scenario({ predicates: [], priorities: [{ name: "NodePreferAvoidPodsPriority", weight: 1 }] });
  const avoided = { preferAvoidPods: [{ podSignature: { podController: { kind: "ReplicaSet", uid: "them" } } }] };
  const annotations = { "scheduler.alpha.kubernetes.io/preferAvoidPods": JSON.stringify(avoided) };
  cluster.node("shy", { metadata: { annotations } });
  cluster.node("open");
  const owner = (uid: string) => ({ apiVersion: "apps/v1", kind: "ReplicaSet", name: "x", uid, controller: true });
  const pod = (uid: string) => cluster.pod({ metadata: { ownerReferences: [owner(uid)] } });
  assert.deepEqual(cluster.scores("NodePreferAvoidPods", pod("them")), { shy: 0, open: 100 });
  assert.deepEqual(cluster.scores("NodePreferAvoidPods", pod("others")), { shy: 100, open: 100 });
});

test("resources are weighed as each priority of old does", () => {
  const cluster = scenario({
    priorities: [
      { name: "LeastRequestedPriority", weight: 1 },
      { name: "MostRequestedPriority", weight: 1 },
      {
        name: "Ratio",
        weight: 2,
        argument: {
          requestedToCapacityRatioArguments: {
            shape: [
              { utilization: 0, score: 0 },
              { utilization: 100, score: 10 },
            ],
          },
        },
      },
    ],
  });
  cluster.node("half");
  const requests = { cpu: "2", memory: "4Gi" };
  const pod = cluster.pod({ spec: { containers: [{ name: "app", image: "app", resources: { requests } }] } });
  assert.deepEqual(namesOf(cluster.profile.score).slice(0, 3), [
    "NodeResourcesLeastAllocated 1",
    "NodeResourcesMostAllocated 1",
    "RequestedToCapacityRatio 2",
  ]);
  for (const name of ["NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio"])
    assert.deepEqual(cluster.scores(name, pod), { half: 50 }, name);
});

test("extenders of policies have their timeouts in nanoseconds, and the weight of hard affinity is passed on", () => {
  const { extenders, profiles } = readPolicy(
    {
      extenders: [
        { urlPrefix: "http://x", enableHttps: true, httpTimeout: 100_000_000, filterVerb: "f", nodeCacheCapable: true },
      ],
      hardPodAffinitySymmetricWeight: 7,
    },
    "policy",
  );
  assert.deepEqual(extenders, [
    { urlPrefix: "http://x", filterVerb: "f", nodeCacheCapable: true, enableHTTPS: true, httpTimeout: "100ms" },
  ]);
  assert.deepEqual(profiles?.[0]?.pluginConfig, [{ name: "InterPodAffinity", args: { hardPodAffinityWeight: 7 } }]);
});

const wrong: readonly [string, object, RegExp][] = [
  ["a predicate that nobody knows", { predicates: [{ name: "Nice" }] }, /Predicate type not found for "Nice"/],
  ["a priority that nobody knows", { priorities: [{ name: "Nice", weight: 1 }] }, /Priority type not found for "Nice"/],
  ["a priority without weight", { priorities: [{ name: "EqualPriority" }] }, /should have a positive weight/],
  ["another kind", { kind: "Pod", apiVersion: "v1" }, /expected kind Policy of v1, found Pod of v1/],
];
for (const [what, policy, message] of wrong)
  test(`a policy with ${what} is refused`, () => assert.throws(() => readPolicy(policy, "policy"), message));
