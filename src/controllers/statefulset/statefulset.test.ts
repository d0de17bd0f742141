import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerRevision } from "#api/apps/v1/controller-revision.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { dataHash } from "../template-hash.ts";
import { statefulSetController } from "./statefulset.ts";

const labels = { app: "db" };
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: "c", image }] } });
const db = (replicas: number, more: object = {}) => ({
  metadata: { name: "db" },
  spec: { replicas, serviceName: "db", selector: { matchLabels: labels }, template: template("v1"), ...more },
});
const claims = {
  volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce" as const] } }],
};
const parallel = { podManagementPolicy: "Parallel" as const };
const place = { namespace: "default", name: "db" };

const names = (w: ClientWorld) =>
  w
    .list(Pod)
    .map(({ metadata }) => metadata.name ?? "")
    .toSorted();
const setOf = (w: ClientWorld) => w.get(StatefulSet, place)!;
const statusOf = (w: ClientWorld) => setOf(w).status;
const sync = (w: ClientWorld) => w.reconcile(statefulSetController, setOf(w));
const revisionsOf = (w: ClientWorld) => w.list(ControllerRevision).map(({ revision }) => revision);
const change = (w: ClientWorld, spec: object) => w.client.patch(StatefulSet, place, "merge", { spec });
const revisionOf = (w: ClientWorld, pod: string) =>
  w.get(Pod, { name: pod })?.metadata.labels?.["controller-revision-hash"];

async function setStatus(w: ClientWorld, name: string, status: object): Promise<void> {
  const pod = w.get(Pod, { name })!;
  await w.client.update(Pod, { ...pod, status: { ...pod.status, ...status } }, "status");
  w.writes();
}
const readyAt = (at: string) => ({
  phase: "Running",
  conditions: [{ type: "Ready", status: "True", lastTransitionTime: at }],
});
const run = (w: ClientWorld, name: string, at = "2026-01-01T00:00:00Z") => setStatus(w, name, readyAt(at));

/** Reconciles until nothing is written, making every pod ready as it comes. */
async function settle(w: ClientWorld): Promise<void> {
  for (let i = 0; i < 50; i++) {
    w.writes();
    await sync(w);
    const waiting = w.list(Pod).filter(({ status }) => status.phase !== "Running");
    if (w.writes().length === 0 && waiting.length === 0) return;
    for (const { metadata } of waiting) await run(w, metadata.name ?? "");
  }
  assert.fail("it does not settle");
}

test("pods are created one after the other, each when the one before is ready", async () => {
  const w = world();
  w.have(StatefulSet, db(3));
  await sync(w);
  assert.deepEqual(names(w), ["db-0"]);
  assert.deepEqual(w.events(), ["Normal SuccessfulCreate Create Pod db-0 in StatefulSet db successful"]);
  await sync(w);
  assert.deepEqual(names(w), ["db-0"]);
  await run(w, "db-0");
  await sync(w);
  assert.deepEqual(names(w), ["db-0", "db-1"]);
  await settle(w);
  assert.deepEqual(names(w), ["db-0", "db-1", "db-2"]);
  const { currentRevision, updateRevision, ...counts } = statusOf(w);
  assert.equal(currentRevision, updateRevision);
  assert.deepEqual(counts, {
    observedGeneration: 1,
    replicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    currentReplicas: 3,
    updatedReplicas: 3,
    collisionCount: 0,
  });
});

test("a pod has the name, the labels, the host name and the volumes of its ordinal", async () => {
  const w = world();
  const spec = template("v1").spec;
  const volumes = [
    { name: "data", emptyDir: {} },
    { name: "tmp", emptyDir: {} },
  ];
  w.have(
    StatefulSet,
    db(1, { ...claims, ordinals: { start: 7 }, template: { metadata: { labels }, spec: { ...spec, volumes } } }),
  );
  await sync(w);
  const pod = w.get(Pod, { name: "db-7" })!;
  assert.equal(pod.metadata.generateName, "db-");
  assert.deepEqual(pod.metadata.labels, {
    ...labels,
    "statefulset.kubernetes.io/pod-name": "db-7",
    "apps.kubernetes.io/pod-index": "7",
    "controller-revision-hash": statusOf(w).updateRevision,
  });
  assert.deepEqual([pod.spec.hostname, pod.spec.subdomain], ["db-7", "db"]);
  assert.deepEqual(
    pod.spec.volumes?.map(({ name, persistentVolumeClaim }) => [name, persistentVolumeClaim?.claimName]),
    [
      ["data", "data-db-7"],
      ["tmp", undefined],
    ],
  );
  assert.deepEqual(w.get(PersistentVolumeClaim, { name: "data-db-7" })?.metadata.labels, labels);
  assert.deepEqual(w.events(), [
    "Normal SuccessfulCreate Create Claim data-db-7 Pod db-7 in StatefulSet db success",
    "Normal SuccessfulCreate Create Pod db-7 in StatefulSet db successful",
  ]);
});

test("in parallel all pods are created and deleted at once", async () => {
  const w = world();
  w.have(StatefulSet, db(5, parallel));
  await sync(w);
  assert.equal(names(w).length, 5);
  await change(w, { replicas: 1 });
  await sync(w);
  assert.deepEqual(names(w), ["db-0"]);
});

test("one reconcile creates no more than 500 pods, however many are asked for", async () => {
  const w = world();
  w.have(StatefulSet, db(2_000_000_000, parallel));
  await sync(w);
  assert.equal(names(w).length, 500);
});

test("scaling down takes the highest ordinal first, and waits for each to be gone", async () => {
  const w = world();
  w.have(StatefulSet, db(3));
  await settle(w);
  await change(w, { replicas: 0 });
  const going = w.get(Pod, { name: "db-2" })!;
  w.have(Pod, { ...going, metadata: { ...going.metadata, finalizers: ["example.com/wait"] } });
  await sync(w);
  assert.equal(w.get(Pod, { name: "db-2" })?.metadata.deletionTimestamp, "2026-01-01T00:00:00Z");
  await sync(w);
  assert.equal(w.get(Pod, { name: "db-1" })?.metadata.deletionTimestamp, undefined);
  w.lose(Pod, { name: "db-2" });
  await sync(w);
  assert.deepEqual(names(w), ["db-0"]);
});

test("in order, a pod that does not work keeps others from being deleted before it", async () => {
  const w = world();
  w.have(StatefulSet, db(4));
  await settle(w);
  await setStatus(w, "db-1", { conditions: [] });
  await change(w, { replicas: 1 });
  await setStatus(w, "db-3", { conditions: [] });
  await sync(w);
  // of the two that do not work db-1 is the first; db-3 has to wait for it, and it for db-3: as upstream has it
  assert.deepEqual(names(w), ["db-0", "db-1", "db-2", "db-3"]);
  await run(w, "db-1");
  await sync(w);
  assert.deepEqual(names(w), ["db-0", "db-1", "db-2"]);
});

test("a pod that has ended is replaced, whatever it ended with", async () => {
  for (const phase of ["Failed", "Succeeded"]) {
    const w = world();
    w.have(StatefulSet, db(2));
    await settle(w);
    await setStatus(w, "db-0", { phase, reason: "Evicted" });
    w.events();
    await sync(w);
    assert.deepEqual(names(w), ["db-1"]);
    assert.deepEqual(w.events(), ["Normal SuccessfulDelete Delete Pod db-0 in StatefulSet db successful"]);
    await sync(w);
    assert.deepEqual(names(w), ["db-0", "db-1"]);
  }
});

test("a rolling update goes from the highest ordinal down, and stops at a pod that does not come up", async () => {
  const w = world();
  w.have(StatefulSet, db(3));
  await settle(w);
  await change(w, { template: template("v2") });
  await sync(w);
  assert.deepEqual(names(w), ["db-0", "db-1"]);
  const { currentRevision, updateRevision, currentReplicas, updatedReplicas } = statusOf(w);
  assert.notEqual(currentRevision, updateRevision);
  assert.deepEqual([currentReplicas, updatedReplicas], [2, undefined]);
  await sync(w);
  assert.equal(revisionOf(w, "db-2"), updateRevision);
  await sync(w);
  assert.equal(revisionOf(w, "db-1"), currentRevision);
  await settle(w);
  assert.deepEqual(
    ["db-0", "db-1", "db-2"].map((name) => revisionOf(w, name)),
    Array(3).fill(updateRevision),
  );
  assert.equal(statusOf(w).currentRevision, updateRevision);
  assert.deepEqual(revisionsOf(w), [1, 2]);
});

test("a broken update that is taken back stays stuck in order until the broken pod is deleted", async () => {
  const w = world();
  w.have(StatefulSet, db(2));
  await settle(w);
  await change(w, { template: template("broken") });
  await sync(w);
  await sync(w);
  await change(w, { template: template("v1") });
  await sync(w);
  assert.equal(w.get(Pod, { name: "db-1" })?.spec.containers[0]?.image, "broken");
  w.lose(Pod, { name: "db-1" });
  await settle(w);
  assert.equal(w.get(Pod, { name: "db-1" })?.spec.containers[0]?.image, "v1");
  assert.deepEqual(revisionsOf(w).toSorted(), [2, 3], "the old revision became the newest");
});

test("in parallel a broken update that is taken back heals by itself", async () => {
  const w = world();
  w.have(StatefulSet, db(3, parallel));
  await settle(w);
  await change(w, { template: template("broken") });
  await sync(w);
  await sync(w);
  assert.equal(w.get(Pod, { name: "db-2" })?.spec.containers[0]?.image, "broken");
  await change(w, { template: template("v1") });
  await sync(w);
  assert.deepEqual(names(w), ["db-0", "db-1"]);
  await settle(w);
  assert.equal(w.get(Pod, { name: "db-2" })?.spec.containers[0]?.image, "v1");
});

test("pods below the partition keep the old template, also when they are created anew", async () => {
  const w = world();
  const updateStrategy = { type: "RollingUpdate" as const, rollingUpdate: { partition: 2 } };
  w.have(StatefulSet, db(3, { updateStrategy, ordinals: { start: 5 } }));
  await settle(w);
  const old = statusOf(w).currentRevision;
  await change(w, { template: template("v2") });
  await settle(w);
  w.lose(Pod, { name: "db-5" });
  await settle(w);
  const { updateRevision, currentRevision, currentReplicas, updatedReplicas } = statusOf(w);
  assert.deepEqual(
    ["db-5", "db-6", "db-7"].map((name) => revisionOf(w, name)),
    [old, old, updateRevision],
  );
  assert.deepEqual([currentRevision, currentReplicas, updatedReplicas], [old, 2, 1]);
});

test("maxUnavailable says how many pods are replaced at once", async () => {
  const rows: readonly [number | string, number][] = [
    [2, 2],
    ["50%", 3],
    ["10%", 1],
  ];
  for (const [maxUnavailable, count] of rows) {
    const w = world();
    const updateStrategy = { type: "RollingUpdate" as const, rollingUpdate: { partition: 0, maxUnavailable } };
    w.have(StatefulSet, db(6, { updateStrategy }));
    await settle(w);
    await change(w, { template: template("v2") });
    await sync(w);
    assert.deepEqual(names(w), ["db-0", "db-1", "db-2", "db-3", "db-4", "db-5"].slice(0, 6 - count));
    await sync(w);
    assert.equal(names(w).length, 6 - count + 1);
  }
});

test("with OnDelete a pod gets the new template only when somebody deletes it", async () => {
  const w = world();
  w.have(StatefulSet, db(2, { updateStrategy: { type: "OnDelete" as const } }));
  await settle(w);
  const old = statusOf(w).currentRevision;
  await change(w, { template: template("v2") });
  await settle(w);
  assert.deepEqual(
    ["db-0", "db-1"].map((name) => revisionOf(w, name)),
    [old, old],
  );
  w.lose(Pod, { name: "db-0" });
  await settle(w);
  assert.equal(revisionOf(w, "db-0"), statusOf(w).updateRevision);
  assert.equal(statusOf(w).currentRevision, old);
});

test("with minReadySeconds a pod must have been ready for a time before the next is created", async () => {
  const w = world();
  w.have(StatefulSet, db(2, { minReadySeconds: 30 }));
  await sync(w);
  await run(w, "db-0", "2026-01-01T00:00:00Z");
  await w.clock.advance(10_000);
  assert.deepEqual(await sync(w), { afterMs: 20_000 });
  assert.deepEqual([statusOf(w).readyReplicas, statusOf(w).availableReplicas], [1, 0]);
  await w.clock.advance(20_000);
  assert.equal(await sync(w), undefined);
  assert.deepEqual(names(w), ["db-0", "db-1"]);
});

test("orphans with the name of a member are adopted, and pods that no longer fit are let go", async () => {
  const w = world();
  const set = w.have(StatefulSet, db(2, parallel));
  w.have(Pod, { metadata: { name: "db-0", labels } });
  w.have(Pod, { metadata: { name: "other-0", labels } });
  w.have(Pod, { metadata: { name: "db-1", labels: { app: "old" } } }, { ownedBy: set });
  await assert.rejects(sync(w), { reason: "AlreadyExists" });
  const owners = (name: string) => w.get(Pod, { name })?.metadata.ownerReferences?.map(({ uid }) => uid) ?? [];
  assert.deepEqual([owners("db-0"), owners("other-0"), owners("db-1")], [[set.metadata.uid], [], []]);
  // and what was adopted gets the labels of a member, as far as it can
  assert.equal(w.get(Pod, { name: "db-0" })?.metadata.labels?.["apps.kubernetes.io/pod-index"], "0");
});

test("a set that is being deleted only counts", async () => {
  const w = world();
  const set = w.have(StatefulSet, db(2));
  await settle(w);
  w.have(StatefulSet, {
    ...set,
    metadata: {
      ...set.metadata,
      deletionTimestamp: "2026-01-01T00:00:00Z",
      finalizers: ["foregroundDeletion"],
      generation: 2,
    },
  });
  w.lose(Pod, { name: "db-1" });
  await sync(w);
  assert.deepEqual(w.writes(), ["update StatefulSet db/status"]);
  assert.deepEqual([statusOf(w).replicas, statusOf(w).observedGeneration], [1, 2]);
});

test("a failure to create a pod is reported, and the status is written all the same", async () => {
  const w = world();
  w.have(StatefulSet, db(1));
  const forbidden = new ApiError({ code: 403, reason: "Forbidden", message: 'pods "db-0" is forbidden: no' });
  w.fail(({ verb, resource }) => (verb === "create" && resource === "pods" ? forbidden : undefined));
  await assert.rejects(sync(w), forbidden);
  assert.deepEqual(w.events(), [
    'Warning FailedCreate Create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: no',
  ]);
  assert.equal(statusOf(w).observedGeneration, 1);
});

test("a pod waits for a claim that is being deleted, and a pending pod gets one that went missing", async () => {
  const w = world();
  w.have(StatefulSet, db(1, claims));
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  w.have(PersistentVolumeClaim, { metadata: { name: "data-db-0", deletionTimestamp } });
  await assert.rejects(sync(w), /pvc data-db-0 is being deleted/);
  assert.deepEqual(w.events(), [
    "Warning FailedCreate Create Pod db-0 in StatefulSet db failed error: pvc data-db-0 is being deleted",
  ]);
  w.lose(PersistentVolumeClaim, { name: "data-db-0" });
  await sync(w);
  await setStatus(w, "db-0", { phase: "Pending" });
  w.lose(PersistentVolumeClaim, { name: "data-db-0" });
  await sync(w);
  assert.ok(w.get(PersistentVolumeClaim, { name: "data-db-0" }));
});

test("the retention policy decides who owns the claims", async () => {
  type Keep = "Retain" | "Delete";
  const rows: readonly [Keep, Keep, readonly string[], readonly string[]][] = [
    ["Retain", "Retain", [], []],
    ["Retain", "Delete", ["StatefulSet"], ["StatefulSet"]],
    ["Delete", "Retain", [], ["Pod"]],
    ["Delete", "Delete", ["StatefulSet"], ["Pod"]],
  ];
  for (const [whenScaled, whenDeleted, wanted, scaled] of rows) {
    const w = world();
    const persistentVolumeClaimRetentionPolicy = { whenScaled, whenDeleted };
    w.have(StatefulSet, db(2, { ...claims, persistentVolumeClaimRetentionPolicy }));
    await settle(w);
    const owners = (name: string) =>
      w.get(PersistentVolumeClaim, { name })?.metadata.ownerReferences?.map(({ kind }) => kind) ?? [];
    assert.deepEqual(owners("data-db-1"), wanted, `${whenScaled} ${whenDeleted}`);
    await change(w, { replicas: 1 });
    await sync(w);
    assert.deepEqual([owners("data-db-0"), owners("data-db-1")], [wanted, scaled], `${whenScaled} ${whenDeleted}`);
  }
});

test("a claim of a pod that is gone is not used by its successor", async () => {
  const w = world();
  const policy = {
    persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete" as const, whenDeleted: "Retain" as const },
  };
  w.have(StatefulSet, db(1, { ...claims, ...policy }));
  const ownerReferences = [{ apiVersion: "v1", kind: "Pod", name: "db-0", uid: "gone", controller: true }];
  w.have(PersistentVolumeClaim, { metadata: { name: "data-db-0", ownerReferences } });
  await sync(w);
  assert.deepEqual(names(w), []);
  w.lose(PersistentVolumeClaim, { name: "data-db-0" });
  await sync(w);
  assert.deepEqual(names(w), ["db-0"]);
});

test("a claim that someone else controls is left to them, which is reported", async () => {
  const w = world();
  const policy = {
    persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete" as const, whenDeleted: "Delete" as const },
  };
  const set = w.have(StatefulSet, db(1, { ...claims, ...policy }));
  const other = { apiVersion: "v1", kind: "Thing", name: "t", uid: "t", controller: true };
  const ours = { apiVersion: "apps/v1", kind: "StatefulSet", name: "db", uid: set.metadata.uid ?? "" };
  w.have(PersistentVolumeClaim, { metadata: { name: "data-db-0", ownerReferences: [other, ours] } });
  await sync(w);
  assert.ok(
    w.events().some((line) => line.startsWith("Warning ConflictingController PersistentVolumeClaim data-db-0 has")),
  );
  assert.deepEqual(w.get(PersistentVolumeClaim, { name: "data-db-0" })?.metadata.ownerReferences, [other]);
});

test("revisions have the very names upstream gives them", () => {
  const container = { image: "test", imagePullPolicy: "Always", name: "test", resources: {} };
  const containers = [
    { ...container, terminationMessagePolicy: "File", terminationMessagePath: "/dev/termination-log" },
  ];
  const spec = {
    containers,
    dnsPolicy: "ClusterFirst",
    restartPolicy: "Always",
    schedulerName: "default-scheduler",
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  };
  const metadata = { labels: { app: "foo" }, annotations: { test: "value" } };
  assert.equal(dataHash({ spec: { template: { spec, metadata, $patch: "replace" } } }, 0), "776999688b");
});

test("a revision whose name is taken gets another, and the collision is counted", async () => {
  const w = world();
  const set = w.have(StatefulSet, db(0));
  const hash = dataHash({ spec: { template: { ...set.spec.template, $patch: "replace" } } }, 0);
  w.have(ControllerRevision, { metadata: { name: `db-${hash}` }, data: { other: true }, revision: 1 });
  await sync(w);
  assert.equal(statusOf(w).collisionCount, 1);
  assert.notEqual(statusOf(w).updateRevision, `db-${hash}`);
  await settle(w);
  assert.equal(w.list(ControllerRevision).length, 2);
});

test("a revision that only lacks defaults is not a different one", async () => {
  const w = world();
  const set = w.have(StatefulSet, db(0));
  const data = { spec: { template: { ...template("v1"), $patch: "replace" } } };
  w.have(ControllerRevision, { metadata: { name: "db-old", labels }, data, revision: 4 }, { ownedBy: set });
  await sync(w);
  assert.equal(statusOf(w).updateRevision, "db-old");
});

test("a revision that makes no sense is an error that names it", async () => {
  const w = world();
  const set = w.have(StatefulSet, { ...db(0), status: { replicas: 0, currentRevision: "db-bad" } });
  const data = { spec: { template: "none" } };
  w.have(ControllerRevision, { metadata: { name: "db-bad", labels }, data, revision: 1 }, { ownedBy: set });
  await assert.rejects(sync(w), /restore revision default\/db-bad/);
});

test("old revisions beyond the limit are deleted, but none that a pod is of", async () => {
  const w = world();
  w.have(StatefulSet, db(1, { revisionHistoryLimit: 1, updateStrategy: { type: "OnDelete" as const } }));
  await settle(w);
  for (const image of ["v2", "v3", "v4", "v5"]) {
    await change(w, { template: template(image) });
    await settle(w);
  }
  // 1 is the pod's, 5 the newest, 4 the history
  assert.deepEqual(revisionsOf(w), [1, 4, 5]);
});
