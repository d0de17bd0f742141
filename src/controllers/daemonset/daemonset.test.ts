import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerRevision } from "#api/apps/v1/controller-revision.ts";
import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { templateHash } from "../template-hash.ts";
import { daemonSetController } from "./daemonset.ts";
import { daemonTolerations, pinnedTo, placementOf, targetNode } from "./placement.ts";

const labels = { app: "agent" };
const template = (image: string, spec: object = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: "c", image }], ...spec },
});
const agent = (more: object = {}) => ({
  metadata: { name: "agent" },
  spec: { selector: { matchLabels: labels }, template: template("v1"), ...more },
});
const place = { namespace: "default", name: "agent" };
const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: "RollingUpdate" as const, rollingUpdate } });

/** A world with nodes n0, n1, … and a DaemonSet. */
function cluster(nodes: number, more: object = {}) {
  const w = world();
  for (let i = 0; i < nodes; i++) w.have(Node, { metadata: { name: `n${i}` } });
  w.have(DaemonSet, agent(more));
  const one = daemonSetController();
  return Object.assign(w, { sync: () => w.reconcile(one, w.get(DaemonSet, place)!) });
}
type Cluster = ReturnType<typeof cluster>;

const statusOf = (w: ClientWorld) => w.get(DaemonSet, place)!.status;
const podOn = (w: ClientWorld, node: string) => w.list(Pod).filter((pod) => targetNode(pod) === node);
const nodesOf = (w: ClientWorld) => w.list(Pod).map(targetNode).toSorted();
const imagesOf = (w: ClientWorld) =>
  w
    .list(Pod)
    .map((pod) => `${targetNode(pod)} ${pod.spec.containers[0]?.image}`)
    .toSorted();
const change = (w: ClientWorld, spec: object) => w.client.patch(DaemonSet, place, "merge", { spec });

/** Binds a pod and makes it ready, as scheduler and kubelet would. */
async function run(w: ClientWorld, pod: Pod, at = "2026-01-01T00:00:00Z"): Promise<void> {
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime: at }];
  const bound = { ...pod, spec: { ...pod.spec, nodeName: targetNode(pod) ?? "" } };
  const updated = await w.client.update(Pod, bound);
  await w.client.update(Pod, { ...updated, status: { ...pod.status, phase: "Running", conditions } }, "status");
  w.writes();
}
async function setPhase(w: ClientWorld, pod: Pod, phase: "Failed" | "Succeeded"): Promise<void> {
  await w.client.update(Pod, { ...pod, status: { ...pod.status, phase } }, "status");
  w.writes();
}
const runAll = async (w: ClientWorld) => {
  for (const pod of w.list(Pod)) if (pod.status.phase !== "Running") await run(w, pod);
};
async function settle(w: Cluster): Promise<void> {
  for (let i = 0; i < 50; i++) {
    w.writes();
    await w.sync();
    const isQuiet = w.writes().length === 0 && w.list(Pod).every(({ status }) => status.phase === "Running");
    if (isQuiet) return;
    await runAll(w);
  }
  assert.fail("it does not settle");
}

test("every node gets a pod that can run nowhere else", async () => {
  const w = cluster(3);
  await w.sync();
  assert.deepEqual(nodesOf(w), ["n0", "n1", "n2"]);
  const [pod] = podOn(w, "n1");
  assert.equal(pod?.spec.nodeName, undefined);
  const [revision] = w.list(ControllerRevision);
  const hash = templateHash(w.get(DaemonSet, place)!.spec.template);
  assert.deepEqual(pod?.metadata.labels, { ...labels, "controller-revision-hash": hash });
  assert.deepEqual([revision?.metadata.name, revision?.revision], [`agent-${hash}`, 1]);
  assert.equal(w.events().filter((line) => line.startsWith("Normal SuccessfulCreate Created pod: agent-")).length, 3);
  await settle(w);
  assert.deepEqual(statusOf(w), {
    observedGeneration: 1,
    desiredNumberScheduled: 3,
    currentNumberScheduled: 3,
    numberMisscheduled: 0,
    numberReady: 3,
    numberAvailable: 3,
    updatedNumberScheduled: 3,
  });
});

test("a node is fit by name, labels, affinity and taints", () => {
  const term = (key: string, values: string[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In" as const, values }] }],
        },
      },
    },
  });
  const taint = (key: string, effect: "NoSchedule" | "NoExecute" | "PreferNoSchedule") => ({
    taints: [{ key, effect }],
  });
  const rows: readonly [string, object, object, boolean, boolean][] = [
    ["nothing is asked", {}, {}, true, true],
    ["its name", { nodeName: "n" }, {}, true, true],
    ["another name", { nodeName: "m" }, {}, false, false],
    ["its label", { nodeSelector: { disk: "ssd" } }, {}, true, true],
    ["another label", { nodeSelector: { disk: "hdd" } }, {}, false, false],
    ["affinity", term("disk", ["ssd"]), {}, true, true],
    ["affinity to others", term("disk", ["hdd"]), {}, false, false],
    ["a taint", {}, taint("a", "NoSchedule"), false, true],
    ["a soft taint", {}, taint("a", "PreferNoSchedule"), true, true],
    ["a taint that evicts", {}, taint("a", "NoExecute"), false, false],
    ["a taint that is tolerated", { tolerations: [{ operator: "Exists" }] }, taint("a", "NoExecute"), true, true],
    ["trouble of the node", {}, taint("node.kubernetes.io/unreachable", "NoExecute"), true, true],
    ["a cordon", {}, { unschedulable: true, ...taint("node.kubernetes.io/unschedulable", "NoSchedule") }, true, true],
    ["no network", {}, taint("node.kubernetes.io/network-unavailable", "NoSchedule"), false, true],
    [
      "no network needed",
      { hostNetwork: true },
      taint("node.kubernetes.io/network-unavailable", "NoSchedule"),
      true,
      true,
    ],
  ];
  for (const [what, podSpec, nodeSpec, shouldRun, shouldStay] of rows) {
    const w = world();
    const node = w.have(Node, { metadata: { name: "n", labels: { disk: "ssd" } }, spec: nodeSpec });
    const ds = w.have(DaemonSet, agent({ template: template("v1", podSpec) }));
    assert.deepEqual(placementOf(ds)(node), { shouldRun, shouldStay }, what);
  }
});

test("a toleration of the template with a limit gives way to the daemon's own", () => {
  const given = { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" } as const;
  const mine = { key: "a", operator: "Exists" } as const;
  const all = daemonTolerations({ containers: [], tolerations: [{ ...given, tolerationSeconds: 5 }, mine] } as never);
  assert.deepEqual(all.slice(0, 2), [given, mine]);
  assert.equal(all.length, 7);
});

test("pinning replaces what was required of nodes, and keeps the rest of the affinity", () => {
  const preferred = [{ weight: 1, preference: { matchExpressions: [{ key: "a", operator: "Exists" as const }] } }];
  const w = world();
  const ds = w.have(
    DaemonSet,
    agent({
      template: template("v1", {
        affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } },
      }),
    }),
  );
  const { affinity } = pinnedTo(ds.spec.template, "n7").spec;
  assert.deepEqual(affinity?.nodeAffinity, {
    preferredDuringSchedulingIgnoredDuringExecution: preferred,
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n7"] }] }],
    },
  });
});

test("a pod stays on a node that others may no longer come to, and counts as misplaced; it goes when it must", async () => {
  const w = cluster(1);
  await settle(w);
  const taint = (effect: string) =>
    w.client.patch(Node, { name: "n0" }, "merge", { spec: { taints: [{ key: "a", effect }] } });
  await taint("NoSchedule");
  await w.sync();
  assert.equal(w.list(Pod).length, 1);
  assert.deepEqual([statusOf(w).desiredNumberScheduled, statusOf(w).numberMisscheduled], [0, 1]);
  await taint("NoExecute");
  await w.sync();
  assert.equal(w.list(Pod).length, 0);
});

test("of several pods on a node the oldest that has the node stays", async () => {
  const w = cluster(1);
  await settle(w);
  const [first] = w.list(Pod);
  const twin = (name: string, creationTimestamp: string, nodeName: string) =>
    w.have(Pod, {
      ...first,
      metadata: { ...first?.metadata, name, uid: name, creationTimestamp },
      spec: { ...first?.spec, nodeName },
    });
  twin("older", "2025-01-01T00:00:00Z", "n0");
  twin("unbound", "2024-01-01T00:00:00Z", "");
  await w.sync();
  assert.deepEqual(
    w.list(Pod).map(({ metadata }) => metadata.name),
    ["older"],
  );
});

test("a failed pod is deleted at once, the next on its node ever later; one that succeeded always at once", async () => {
  const w = cluster(1);
  await settle(w);
  const fail = async (phase: "Failed" | "Succeeded") => {
    w.events();
    await setPhase(w, w.list(Pod)[0]!, phase);
    const again = await w.sync();
    return { again, left: w.list(Pod).length, events: w.events().map((line) => line.split(" ")[1]) };
  };
  const deleted = { again: undefined, left: 0, events: ["FailedDaemonPod", "SuccessfulDelete"] };
  assert.deepEqual(await fail("Failed"), deleted);
  await w.sync();
  assert.deepEqual(await fail("Failed"), { again: { afterMs: 1000 }, left: 1, events: [] });
  await w.clock.advance(1000);
  assert.deepEqual(await fail("Failed"), deleted);
  await w.sync();
  await w.clock.advance(1500);
  assert.deepEqual(await fail("Failed"), { again: { afterMs: 500 }, left: 1, events: [] });
  assert.deepEqual(await fail("Succeeded"), { ...deleted, events: ["SucceededDaemonPod", "SuccessfulDelete"] });
  await w.sync();
  await w.clock.advance(31 * 60_000);
  assert.deepEqual(await fail("Failed"), deleted);
  await w.sync();
  assert.deepEqual((await fail("Failed")).again, { afterMs: 1000 }, "after a long time it starts anew");
});

test("a pod for a node that is gone before it was bound is deleted", async () => {
  const w = cluster(2);
  await w.sync();
  await run(w, podOn(w, "n0")[0]!);
  w.lose(Node, { name: "n0" });
  w.lose(Node, { name: "n1" });
  await w.sync();
  assert.deepEqual(nodesOf(w), ["n0"], "one that was bound is left to the garbage collector of pods");
});

test("one reconcile creates no more than 250 pods, and stops at the first batch that fails", async () => {
  const w = cluster(300);
  await w.sync();
  assert.equal(w.list(Pod).length, 250);
  const x = cluster(20);
  let allowed = 3;
  const forbidden = new ApiError({ code: 403, reason: "Forbidden", message: "no" });
  x.fail(({ verb, resource }) => (verb === "create" && resource === "pods" && --allowed < 0 ? forbidden : undefined));
  await assert.rejects(x.sync(), forbidden);
  assert.equal(x.events().filter((line) => line === "Warning FailedCreate Error creating: no").length, 4);
  assert.equal(statusOf(x).desiredNumberScheduled, 20);
});

test("a rolling update deletes as many old pods as may be missing, and all that do not work", async () => {
  const rows: readonly [string | number, number, number][] = [
    [1, 0, 1],
    [2, 0, 2],
    ["50%", 0, 3],
    [2, 1, 2],
    [1, 3, 3],
  ];
  for (const [maxUnavailable, broken, gone] of rows) {
    const w = cluster(5, rolling({ maxUnavailable, maxSurge: 0 }));
    await settle(w);
    for (const pod of w.list(Pod).slice(0, broken))
      await w.client.update(Pod, { ...pod, status: { ...pod.status, conditions: [] } }, "status");
    await change(w, { template: template("v2") });
    await w.sync();
    assert.equal(w.list(Pod).length, 5 - gone, `${maxUnavailable} with ${broken} broken`);
    await w.sync();
    assert.equal(w.list(Pod).length, 5);
    await w.sync();
    assert.equal(imagesOf(w).filter((line) => line.endsWith("v2")).length, gone, "new pods have to work first");
    await settle(w);
    assert.deepEqual(imagesOf(w), ["n0 v2", "n1 v2", "n2 v2", "n3 v2", "n4 v2"]);
    assert.equal(statusOf(w).updatedNumberScheduled, 5);
  }
});

test("with a surge the new pod comes first, and the old one goes when it works", async () => {
  const w = cluster(3, { ...rolling({ maxUnavailable: 0, maxSurge: 1 }), minReadySeconds: 10 });
  await settle(w);
  await w.clock.advance(10_000);
  await change(w, { template: template("v2") });
  await w.sync();
  const surged = () => w.list(Pod).filter(({ spec }) => spec.containers[0]?.image === "v2");
  assert.deepEqual([w.list(Pod).length, surged().length], [4, 1]);
  await run(w, surged()[0]!, "2026-01-01T00:00:10Z");
  assert.deepEqual(await w.sync(), { afterMs: 10_000 });
  assert.equal(w.list(Pod).length, 4);
  await w.clock.advance(10_000);
  await w.sync();
  assert.deepEqual([w.list(Pod).length, surged().length], [3, 1]);
  await w.sync();
  assert.deepEqual([w.list(Pod).length, surged().length], [4, 2]);
});

test("with a surge an old pod that does not work is replaced at once, and goes first when the new one is there", async () => {
  const w = cluster(2, rolling({ maxUnavailable: 0, maxSurge: 1 }));
  await settle(w);
  for (const pod of w.list(Pod))
    await w.client.update(Pod, { ...pod, status: { ...pod.status, conditions: [] } }, "status");
  await change(w, { template: template("v2") });
  await w.sync();
  assert.equal(w.list(Pod).length, 4);
  await w.sync();
  assert.deepEqual(imagesOf(w), ["n0 v2", "n1 v2"]);
});

test("with a surge a pod that works where it no longer should goes only when enough work where they should", async () => {
  const w = cluster(2, rolling({ maxUnavailable: 0, maxSurge: 1 }));
  await settle(w);
  const taints = [{ key: "a", effect: "NoSchedule" }];
  await w.client.patch(Node, { name: "n0" }, "merge", { spec: { taints } });
  const [pod] = podOn(w, "n1");
  await w.client.update(Pod, { ...pod!, status: { ...pod!.status, conditions: [] } }, "status");
  await change(w, { template: template("v2") });
  await w.sync();
  assert.deepEqual(imagesOf(w), ["n0 v1", "n1 v1", "n1 v2"]);
  await w.sync();
  assert.deepEqual(imagesOf(w), ["n0 v1", "n1 v2"]);
  await w.sync();
  assert.deepEqual(imagesOf(w), ["n0 v1", "n1 v2"]);
  await runAll(w);
  await w.sync();
  assert.deepEqual(imagesOf(w), ["n1 v2"]);
});

test("with OnDelete a pod gets the new template only when somebody deletes it", async () => {
  const w = cluster(2, { updateStrategy: { type: "OnDelete" as const } });
  await settle(w);
  await change(w, { template: template("v2") });
  await settle(w);
  assert.deepEqual(imagesOf(w), ["n0 v1", "n1 v1"]);
  assert.equal(statusOf(w).updatedNumberScheduled, undefined);
  w.lose(Pod, podOn(w, "n0")[0]!.metadata as { name: string });
  await settle(w);
  assert.deepEqual(imagesOf(w), ["n0 v2", "n1 v1"]);
});

test("going back makes the old revision the newest again, and replaces no pod that is of it", async () => {
  const w = cluster(2);
  await settle(w);
  await change(w, { template: template("v2") });
  await w.sync();
  await change(w, { template: template("v1") });
  await settle(w);
  assert.deepEqual(imagesOf(w), ["n0 v1", "n1 v1"]);
  assert.deepEqual(
    w
      .list(ControllerRevision)
      .map(({ revision }) => revision)
      .toSorted(),
    [2, 3],
  );
});

test("two revisions of one template become one, and so do the labels of their pods", async () => {
  const w = cluster(1);
  await settle(w);
  const ds = w.get(DaemonSet, place)!;
  const [revision] = w.list(ControllerRevision);
  const metadata = { name: "agent-twin", labels: { ...labels, "controller-revision-hash": "twin" } };
  w.have(ControllerRevision, { metadata, data: revision!.data, revision: 2 }, { ownedBy: ds });
  await w.sync();
  assert.deepEqual(
    w.list(ControllerRevision).map((one) => one.metadata.name),
    ["agent-twin"],
  );
  assert.equal(w.list(Pod)[0]?.metadata.labels?.["controller-revision-hash"], "twin");
});

test("a revision whose name is taken gets another, and the collision is counted", async () => {
  const w = cluster(1);
  const hash = templateHash(w.get(DaemonSet, place)!.spec.template);
  w.have(ControllerRevision, { metadata: { name: `agent-${hash}` }, data: { other: true }, revision: 1 });
  await assert.rejects(w.sync(), /is of another template/);
  assert.equal(statusOf(w).collisionCount, 1);
  await settle(w);
  assert.deepEqual(nodesOf(w), ["n0"]);
});

test("old revisions beyond the limit are deleted, but none that a pod is of", async () => {
  const w = cluster(1, { revisionHistoryLimit: 1, updateStrategy: { type: "OnDelete" as const } });
  await settle(w);
  for (const image of ["v2", "v3", "v4", "v5"]) {
    await change(w, { template: template(image) });
    await settle(w);
  }
  assert.deepEqual(
    w.list(ControllerRevision).map(({ revision }) => revision),
    [1, 5],
  );
});

test("pods that are labelled with the template's generation only are up to date", async () => {
  const w = cluster(1);
  const annotations = { "deprecated.daemonset.template.generation": "3" };
  await w.client.patch(DaemonSet, place, "merge", { metadata: { annotations } });
  const old = { labels: { ...labels, "pod-template-generation": "3" }, name: "old" };
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }];
  w.have(
    Pod,
    { metadata: old, spec: { nodeName: "n0" }, status: { phase: "Running", conditions } },
    { ownedBy: w.get(DaemonSet, place)! },
  );
  await w.sync();
  assert.deepEqual(nodesOf(w), ["n0"]);
  assert.equal(statusOf(w).updatedNumberScheduled, 1);
});

test("orphans are adopted, and pods with other labels are let go", async () => {
  const w = cluster(2);
  const ds = w.get(DaemonSet, place)!;
  w.have(Pod, { metadata: { name: "orphan", labels }, spec: { nodeName: "n0" } });
  w.have(Pod, { metadata: { name: "lost", labels: { app: "x" } }, spec: { nodeName: "n1" } }, { ownedBy: ds });
  await w.sync();
  const owner = (name: string) => w.get(Pod, { name })?.metadata.ownerReferences?.[0]?.uid;
  assert.deepEqual([owner("orphan"), owner("lost")], [ds.metadata.uid, undefined]);
  assert.equal(podOn(w, "n1").length, 2);
});

test("a set that is being deleted is left alone, and so is one that selects everything", async () => {
  const w = cluster(1);
  w.have(DaemonSet, { metadata: { name: "agent", deletionTimestamp: "2026-01-01T00:00:00Z" }, spec: agent().spec });
  await w.sync();
  assert.deepEqual(w.writes(), []);
  w.have(DaemonSet, agent({ selector: {} }));
  await w.sync();
  assert.deepEqual(w.writes(), []);
  assert.deepEqual(w.events(), [
    "Warning SelectingAll This daemon set is selecting all pods. A non-empty selector is required.",
  ]);
});
