import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ReplicationController } from "#api/core/v1/replication-controller.ts";
import { ApiError } from "#base/errors.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { byDeletionCost, deletionCost } from "./deletion-cost.ts";
import { replicaSetController } from "./replicaset.ts";
import { replicationControllerController } from "./replicationcontroller.ts";

const labels = { app: "web" };
const web = (replicas: number, more: object = {}) => ({
  metadata: { name: "web", generation: 3 },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
    ...more,
  },
});
const ready = (at: string) => ({
  phase: "Running" as const,
  conditions: [{ type: "Ready", status: "True", lastTransitionTime: at }],
});
const pod = (w: ClientWorld, name: string, owner: object | undefined, more: object = {}) =>
  w.have(Pod, { metadata: { name, labels }, ...more }, owner ? { ownedBy: owner } : {});
const forbidden = new ApiError({ code: 403, reason: "Forbidden", message: 'pods "web-" is forbidden: exceeded quota' });

test("a replica set creates the pods that are missing, in batches that double", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, web(9));
  pod(w, "web-a", rs);
  await w.reconcile(replicaSetController, rs);
  assert.deepEqual(w.writes(), [...Array(8).fill("create Pod web-"), "update ReplicaSet web/status"]);
  const [made] = w.list(Pod).filter(({ metadata }) => metadata.name !== "web-a");
  assert.deepEqual(made?.metadata.labels, labels);
  assert.deepEqual(made?.metadata.ownerReferences?.[0]?.uid, rs.metadata.uid);
  assert.equal(w.events().filter((line) => line.startsWith("Normal SuccessfulCreate Created pod: web-")).length, 8);
  assert.deepEqual(w.get(ReplicaSet, rs.metadata)?.status, {
    replicas: 1,
    fullyLabeledReplicas: 1,
    terminatingReplicas: 0,
    observedGeneration: 3,
  });
});

test("a replica set stops at the first batch that fails, and says what failed until it is over", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, web(20));
  let allowed = 3;
  w.fail(({ verb, resource }) => (verb === "create" && resource === "pods" && --allowed < 0 ? forbidden : undefined));
  await assert.rejects(w.reconcile(replicaSetController, rs), forbidden);
  assert.equal(
    w.events().filter((line) => line === `Warning FailedCreate Error creating: ${forbidden.message}`).length,
    4,
  );
  const condition = {
    type: "ReplicaFailure",
    status: "True",
    lastTransitionTime: "2026-01-01T00:00:00Z",
    reason: "FailedCreate",
    message: forbidden.message,
  };
  assert.deepEqual(w.get(ReplicaSet, rs.metadata)?.status.conditions, [condition]);
  w.fail(() => undefined);
  await w.reconcile(replicaSetController, rs);
  assert.equal(w.list(Pod).length, 20);
  assert.equal(w.get(ReplicaSet, rs.metadata)?.status.conditions, undefined);
});

test("a namespace that is being deleted is no failure", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, web(2));
  const details = { causes: [{ reason: "NamespaceTerminating", message: "", field: "metadata.namespace" }] };
  const error = new ApiError({ code: 403, reason: "Forbidden", message: "it is being terminated", details });
  w.fail(({ verb, resource }) => (verb === "create" && resource === "pods" ? error : undefined));
  await w.reconcile(replicaSetController, rs);
  assert.deepEqual(w.events(), []);
});

test("one reconcile creates no more than 500 pods", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, web(700));
  await w.reconcile(replicaSetController, rs);
  assert.equal(w.list(Pod).length, 500);
});

test("a replica set deletes what is too much, the least missed first", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, web(1));
  const spec = { nodeName: "n" };
  pod(w, "web-ready", rs, { spec, status: ready("2025-12-31T00:00:00Z") });
  pod(w, "web-unready", rs, { spec, status: { phase: "Running" } });
  pod(w, "web-pending", rs, { status: { phase: "Pending" } });
  await w.reconcile(replicaSetController, rs);
  assert.deepEqual(
    w.list(Pod).map(({ metadata }) => metadata.name),
    ["web-ready"],
  );
  assert.deepEqual(w.events(), [
    "Normal SuccessfulDelete Deleted pod: web-pending",
    "Normal SuccessfulDelete Deleted pod: web-unready",
  ]);
});

test("a replica set adopts orphans that it selects, and releases pods that it no longer does", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, web(2));
  pod(w, "orphan", undefined);
  w.have(Pod, { metadata: { name: "other", labels: { app: "db" } } });
  w.have(Pod, { metadata: { name: "relabeled", labels: { app: "old" } } }, { ownedBy: rs });
  await w.reconcile(replicaSetController, rs);
  assert.deepEqual(w.writes(), [
    "patch Pod relabeled",
    "patch Pod orphan",
    "create Pod web-",
    "update ReplicaSet web/status",
  ]);
  const ownerOf = (name: string) => w.get(Pod, { name })?.metadata.ownerReferences?.map(({ uid }) => uid) ?? [];
  assert.deepEqual([ownerOf("orphan"), ownerOf("other"), ownerOf("relabeled")], [[rs.metadata.uid], [], []]);
});

test("a replica set does not adopt when it turns out to be deleted", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, web(1));
  pod(w, "orphan", undefined);
  const gone = new ApiError({ code: 404, reason: "NotFound", message: "gone" });
  w.fail(({ verb, resource }) => (verb === "get" && resource === "replicasets" ? gone : undefined));
  await assert.rejects(w.reconcile(replicaSetController, rs), /can't adopt Pod default\/orphan/);
  assert.deepEqual(w.writes(), []);
});

test("a replica set that is being deleted leaves its pods alone, but counts them", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, { ...web(3), metadata: { name: "web", deletionTimestamp: "2026-01-01T00:00:00Z" } });
  pod(w, "web-a", rs);
  pod(w, "orphan", undefined);
  await w.reconcile(replicaSetController, rs);
  assert.deepEqual(w.writes(), ["update ReplicaSet web/status"]);
});

test("pods that have ended or are ending do not count", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, web(1));
  pod(w, "web-failed", rs, { status: { phase: "Failed" } });
  const going = { name: "web-going", labels, deletionTimestamp: "2026-01-01T00:00:00Z" };
  w.have(Pod, { metadata: going }, { ownedBy: rs });
  await w.reconcile(replicaSetController, rs);
  assert.deepEqual(w.writes(), ["create Pod web-", "update ReplicaSet web/status"]);
  const { replicas, terminatingReplicas } = w.get(ReplicaSet, rs.metadata)!.status;
  assert.deepEqual({ replicas, terminatingReplicas }, { replicas: 0, terminatingReplicas: 1 });
});

test("a replica set looks again when the next pod becomes available", async () => {
  const w = world({ now: "2026-01-01T00:00:10Z" });
  const rs = w.have(ReplicaSet, web(3, { minReadySeconds: 30 }));
  pod(w, "web-a", rs, { status: ready("2026-01-01T00:00:00Z") });
  pod(w, "web-b", rs, { status: ready("2025-12-31T23:59:50Z") });
  pod(w, "web-c", rs, { status: ready("2025-12-31T00:00:00Z") });
  assert.deepEqual(await w.reconcile(replicaSetController, rs), { afterMs: 10_000 });
  const { readyReplicas, availableReplicas } = w.get(ReplicaSet, rs.metadata)!.status;
  assert.deepEqual({ readyReplicas, availableReplicas }, { readyReplicas: 3, availableReplicas: 1 });
});

test("a replica set that has all it wants writes nothing", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, web(1));
  pod(w, "web-a", rs, {});
  await w.reconcile(replicaSetController, rs);
  assert.deepEqual(w.writes(), ["update ReplicaSet web/status"]);
  await w.reconcile(replicaSetController, rs);
  assert.deepEqual(w.writes(), []);
});

test("a replication controller does the same", async () => {
  const w = world();
  const { template } = web(0).spec;
  const rc = w.have(ReplicationController, {
    metadata: { name: "web" },
    spec: { replicas: 2, selector: labels, template },
  });
  pod(w, "orphan", undefined);
  await w.reconcile(replicationControllerController, rc);
  assert.deepEqual(w.writes(), ["patch Pod orphan", "create Pod web-", "update ReplicationController web/status"]);
  assert.equal(w.get(ReplicationController, rc.metadata)?.status.replicas, 1);
  assert.ok(!("terminatingReplicas" in w.get(ReplicationController, rc.metadata)!.status));
});

test("the cheaper pod to delete comes first", () => {
  const w = world({ now: "2026-01-01T12:00:00Z" });
  const running = { phase: "Running" as const };
  const cost = (value: string) => ({ annotations: { "controller.kubernetes.io/pod-deletion-cost": value } });
  const of = (name: string, more: { metadata?: object; spec?: object; status?: object }) =>
    w.have(Pod, {
      ...more,
      metadata: { name, creationTimestamp: "2026-01-01T00:00:00Z", ...more.metadata },
      spec: { nodeName: "n", ...more.spec },
      status: { ...running, ...more.status },
    });
  const restarted = (restartCount: number) => ({
    containerStatuses: [{ name: "c", restartCount, image: "", imageID: "", ready: true }],
  });
  const table: readonly (readonly [string, object, object])[] = [
    ["not assigned", { spec: { nodeName: "" } }, {}],
    ["pending", { status: { phase: "Pending" } }, {}],
    ["unknown", { status: { phase: "Unknown" } }, {}],
    ["not ready", {}, { status: ready("2026-01-01T00:00:00Z") }],
    ["cheaper", { metadata: cost("-10") }, { metadata: cost("3") }],
    ["crowded", { spec: { nodeName: "busy" } }, { spec: { nodeName: "free" } }],
    ["ready for less", { status: ready("2026-01-01T11:59:00Z") }, { status: ready("2026-01-01T06:00:00Z") }],
    ["restarted more", { status: restarted(3) }, { status: restarted(2) }],
    ["younger by far", { metadata: { creationTimestamp: "2026-01-01T11:00:00Z" } }, {}],
    [
      "of the same age by magnitude, and the smaller uid",
      { metadata: { creationTimestamp: "2026-01-01T00:00:00Z", uid: "a" } },
      { metadata: { creationTimestamp: "2026-01-01T00:00:01Z", uid: "b" } },
    ],
  ];
  for (const [name, first, second] of table) {
    const [a, b] = [of("a", first), of("b", second)];
    const related = [of("x", { spec: { nodeName: "busy" } }), of("y", { spec: { nodeName: "busy" } })];
    const order = byDeletionCost(related, w.clock.now());
    assert.ok(order(a, b) < 0, name);
    assert.ok(order(b, a) > 0, name);
    assert.equal(order(a, a), 0, name);
  }
  for (const [text, value] of Object.entries({ "7": 7, "-7": -7, "+7": 0, "07": 0, "9999999999": 0, x: 0, "0": 0 }))
    assert.equal(deletionCost(of("c", { metadata: cost(text) })), value, text);
});
