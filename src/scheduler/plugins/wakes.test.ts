// Which changes may help a pod that a plugin has refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "#api/core/v1/node.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { ManualClock } from "#base/clock.ts";
import type { Draft } from "#schema/infer.ts";
import { nodePartsChanged, partsChanged } from "../changes.ts";
import type { WatchedChange } from "../framework.ts";
import { SchedulingQueue } from "../queue.ts";
import { asking, Scenario } from "../testing/scenario.ts";

/** Whether the change gets a pod out of where it waits, after this plugin has refused it. */
function wakes(plugin: string, spec: Draft<Pod>, change: (scenario: Scenario) => WatchedChange): boolean {
  const scenario = new Scenario();
  const refuser = scenario.profile.plugins.find(({ name }) => name === plugin);
  assert.ok(refuser, `there is no plugin ${plugin}`);
  const queue = new SchedulingQueue({
    clock: new ManualClock(),
    snapshot: scenario.snapshot,
    compare: () => 0,
    gateOf: () => undefined,
    firstBackoffMs: 1000,
    maxBackoffMs: 1000,
  });
  const pod = scenario.pod(spec);
  queue.set(pod);
  const queued = queue.take();
  assert.ok(queued);
  queue.refuse(queued, new Set([refuser]));
  queue.changed(change(scenario));
  return queued.where !== "stuck";
}

const nodeAdded =
  (node: Draft<Node>) =>
  (scenario: Scenario): WatchedChange => ({
    kind: "Node",
    old: undefined,
    now: scenario.node("n", node),
    happened: ["add"],
  });
const nodeUpdated =
  (before: Draft<Node>, after: Draft<Node>) =>
  (scenario: Scenario): WatchedChange => {
    const [old, now] = [scenario.node("n", before), scenario.node("n", after)];
    return { kind: "Node", old, now, happened: nodePartsChanged(old, now) };
  };
/** A pod on node n ends, and what it leaves is what the node has. */
const podGone =
  (pod: Draft<Pod>, others: readonly Draft<Pod>[] = []) =>
  (scenario: Scenario): WatchedChange => {
    scenario.node("n");
    for (const one of others) scenario.pod(one, "n");
    const old = scenario.pod(pod, "n");
    scenario.snapshot.removePod(old.uid);
    return { kind: "Pod", old, now: undefined, happened: ["delete"] };
  };
const podAdded =
  (pod: Draft<Pod>) =>
  (scenario: Scenario): WatchedChange => {
    scenario.node("n");
    return { kind: "Pod", old: undefined, now: scenario.pod(pod, "n"), happened: ["add"] };
  };
const podChanged =
  (before: Draft<Pod>, after: Draft<Pod>) =>
  (scenario: Scenario): WatchedChange => {
    scenario.node("n");
    const [old, now] = [scenario.pod(before, "n"), scenario.pod(after, "n")];
    return { kind: "Pod", old, now, happened: partsChanged(old, now) };
  };
const claimAdded =
  (name: string, namespace = "default") =>
  (scenario: Scenario): WatchedChange => ({
    kind: "PersistentVolumeClaim",
    old: undefined,
    now: scenario.have(PersistentVolumeClaim, { metadata: { name, namespace } }),
    happened: ["add"],
  });

const tainted = { spec: { taints: [{ key: "k", effect: "NoSchedule" as const }] } };
const cpus = (cpu: string) => ({ status: { allocatable: { cpu } } });
const inZone = (value: string) => ({ metadata: { labels: { zone: value } } });
const east: Draft<Pod> = { spec: { nodeSelector: { zone: "east" } } };
const web: Draft<Pod> = { metadata: { labels: { app: "web" } } };
const term = { labelSelector: { matchLabels: { app: "web" } }, topologyKey: "zone" };
const near: Draft<Pod> = {
  spec: { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
};
const apart: Draft<Pod> = {
  spec: { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
};
const spread: Draft<Pod> = {
  ...web,
  spec: { topologySpreadConstraints: [{ ...term, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }] },
};
const port: Draft<Pod> = {
  spec: { containers: [{ name: "c", image: "c", ports: [{ containerPort: 1, hostPort: 80 }] }] },
};
const mounting = (claimName: string): Draft<Pod> => ({
  spec: { volumes: [{ name: "v", persistentVolumeClaim: { claimName } }] },
});

const cases: readonly [string, string, Draft<Pod>, (scenario: Scenario) => WatchedChange, boolean][] = [
  ["NodeUnschedulable", "a node that takes pods", {}, nodeAdded({}), true],
  ["NodeUnschedulable", "a cordoned node", {}, nodeAdded({ spec: { unschedulable: true } }), false],
  ["NodeUnschedulable", "a node that takes pods again", {}, nodeUpdated({ spec: { unschedulable: true } }, {}), true],
  ["NodeName", "another node", { spec: { nodeName: "m" } }, nodeAdded({}), false],
  ["NodeName", "the node it names", { spec: { nodeName: "n" } }, nodeAdded({}), true],
  ["TaintToleration", "a tainted node", {}, nodeAdded(tainted), false],
  ["TaintToleration", "a taint that is taken away", {}, nodeUpdated(tainted, {}), true],
  ["TaintToleration", "a label", {}, nodeUpdated({}, inZone("east")), false],
  ["NodeAffinity", "a label it selects", east, nodeUpdated({}, inZone("east")), true],
  ["NodeAffinity", "a label it does not select", east, nodeUpdated({}, inZone("west")), false],
  ["NodeAffinity", "more cpus", east, nodeUpdated(inZone("east"), { ...inZone("east"), ...cpus("9") }), false],
  ["NodePorts", "the port is given back", port, podGone(port), true],
  ["NodePorts", "a pod without ports ends", port, podGone({}), false],
  ["NodeResourcesFit", "a node that is large enough", asking({ cpu: "3" }), nodeAdded(cpus("3")), true],
  ["NodeResourcesFit", "a node that is too small", asking({ cpu: "3" }), nodeAdded(cpus("2")), false],
  ["NodeResourcesFit", "more cpus", asking({ cpu: "3" }), nodeUpdated(cpus("2"), cpus("4")), true],
  [
    "NodeResourcesFit",
    "more of what it does not ask for",
    asking({ cpu: "3" }),
    nodeUpdated(cpus("4"), { status: { allocatable: { cpu: "4", memory: "9Gi" } } }),
    false,
  ],
  ["NodeResourcesFit", "enough is given back", asking({ cpu: "3" }), podGone(asking({ cpu: "2" })), true],
  [
    "NodeResourcesFit",
    "not enough is given back",
    asking({ cpu: "3" }),
    podGone(asking({ cpu: "1" }), [asking({ cpu: "2" })]),
    false,
  ],
  ["NodeResourcesFit", "a pod comes", asking({ cpu: "3" }), podAdded({}), false],
  ["InterPodAffinity", "the pod it must be near to comes", near, podAdded(web), true],
  ["InterPodAffinity", "another pod comes", near, podAdded({}), false],
  ["InterPodAffinity", "a pod becomes the one it must be near to", near, podChanged({}, web), true],
  ["InterPodAffinity", "the pod it avoids ends", apart, podGone(web), true],
  ["InterPodAffinity", "another pod ends", apart, podGone({}), false],
  ["InterPodAffinity", "a pod ends that avoided it", web, podGone(apart), true],
  ["InterPodAffinity", "a node at a place comes", near, nodeAdded(inZone("east")), true],
  ["InterPodAffinity", "a node moves to another place", near, nodeUpdated(inZone("east"), inZone("west")), true],
  ["PodTopologySpread", "a pod that counts comes", spread, podAdded(web), true],
  ["PodTopologySpread", "a pod that does not count comes", spread, podAdded({}), false],
  ["PodTopologySpread", "a pod that counts ends", spread, podGone(web), true],
  ["PodTopologySpread", "a node at a place comes", spread, nodeAdded(inZone("east")), true],
  ["PodTopologySpread", "a node at no place comes", spread, nodeAdded({}), false],
  ["VolumeBinding", "its claim comes", mounting("data"), claimAdded("data"), true],
  ["VolumeBinding", "another claim comes", mounting("data"), claimAdded("other"), false],
  [
    "VolumeZone",
    "a claim of that name in another namespace comes",
    mounting("data"),
    claimAdded("data", "other"),
    false,
  ],
  ["VolumeRestrictions", "a pod with the same claim ends", mounting("data"), podGone(mounting("data")), true],
  ["NodeVolumeLimits", "a pod without claims ends", mounting("data"), podGone({}), false],
];
for (const [plugin, name, pod, change, expected] of cases)
  test(`a pod that ${plugin} refused is ${expected ? "" : "not "}tried again when: ${name}`, () => {
    assert.equal(wakes(plugin, pod, change), expected);
  });
