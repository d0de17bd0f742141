// Claims on a cluster of simulated nodes: the binder, the scheduler and the local provisioner together, each with no more rights than it has.
import assert from "node:assert/strict";
import { test } from "node:test";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { Event } from "#api/core/v1/event.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { startCluster, type TestCluster } from "#testing/cluster.ts";

const namespace = "default";
const labels = { app: "db" };
const accessModes = ["ReadWriteOnce" as const];
const requests = (storage: string) => ({ resources: { requests: { storage } } });
const set = {
  metadata: { namespace, name: "db" },
  spec: {
    replicas: 3,
    serviceName: "db",
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
    volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes, ...requests("1Gi") } }],
  },
};

const claims = async ({ client }: TestCluster) =>
  (await client.list(PersistentVolumeClaim)).items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
const volumes = async ({ client }: TestCluster) => (await client.list(PersistentVolume)).items;
const eventsOf = async ({ client }: TestCluster, name: string) =>
  (await client.list(Event)).items
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);

test("a stateful set gets claims, volumes on the nodes of its pods, and the same ones after it shrinks and grows; deleted claims take them along", async () => {
  await using cluster = await startCluster({ nodes: 3 });
  const { client, until } = cluster;
  await client.create(StatefulSet, set);
  const ready = async (count: number) =>
    ((await client.get(StatefulSet, set.metadata)).status.readyReplicas ?? 0) === count;
  await until(() => ready(3));

  const bound = await claims(cluster);
  assert.deepEqual(
    bound.map(({ spec, status }) => [spec.storageClassName, status.phase, status.capacity?.storage]),
    [1, 2, 3].map(() => ["local", "Bound", "1Gi"]),
  );
  for (const [i, { metadata, spec }] of bound.entries()) {
    const pod = await client.get(Pod, { namespace, name: `db-${i}` });
    const volume = await client.get(PersistentVolume, { name: spec.volumeName ?? "" });
    assert.equal(volume.spec.claimRef?.uid, metadata.uid);
    assert.deepEqual(volume.spec.nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions?.[0]?.values, [
      pod.spec.nodeName,
    ]);
  }
  const names = bound.map(({ spec }) => spec.volumeName);

  await client.patch(StatefulSet, set.metadata, "merge", { spec: { replicas: 1 } });
  await until(async () => (await client.list(Pod, { namespace })).items.length === 1);
  await client.patch(StatefulSet, set.metadata, "merge", { spec: { replicas: 3 } });
  await until(() => ready(3));
  assert.deepEqual(
    (await claims(cluster)).map(({ spec }) => spec.volumeName),
    names,
  );

  await client.delete(StatefulSet, set.metadata);
  await until(async () => (await client.list(Pod, { namespace })).items.length === 0);
  assert.equal((await volumes(cluster)).length, 3);
  for (const { metadata } of bound) await client.delete(PersistentVolumeClaim, metadata);
  await until(async () => (await claims(cluster)).length + (await volumes(cluster)).length === 0);
});

const claim = (name: string, spec: object = {}) => ({
  metadata: { namespace, name },
  spec: { accessModes, ...requests("1Gi"), ...spec },
});
const user = (name: string, claimName: string, spec: object = {}) => ({
  metadata: { namespace, name },
  spec: {
    containers: [{ name: "c", image: "i" }],
    volumes: [{ name: "v", persistentVolumeClaim: { claimName } }],
    ...spec,
  },
});
const phaseOf = async ({ client }: TestCluster, name: string) =>
  (await client.get(PersistentVolumeClaim, { namespace, name })).status.phase;

test("a claim waits for its first pod, is provisioned on the pod's node, and grows while it is used", async () => {
  await using cluster = await startCluster();
  const { client, until, advance } = cluster;
  await client.create(PersistentVolumeClaim, claim("data"));
  await advance(2000);
  assert.equal(await phaseOf(cluster, "data"), "Pending");
  assert.deepEqual(await eventsOf(cluster, "data"), [
    "WaitForFirstConsumer: waiting for first consumer to be created before binding",
  ]);
  await client.create(Pod, user("web", "data"));
  await until(async () => (await phaseOf(cluster, "data")) === "Bound");
  const { volumeName = "" } = (await client.get(PersistentVolumeClaim, { namespace, name: "data" })).spec;
  await until(async () => (await client.get(Pod, { namespace, name: "web" })).status.phase === "Running");
  const said = await eventsOf(cluster, "data");
  for (const one of [
    "ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'knarr.dev/local' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.",
    'Provisioning: External provisioner is provisioning volume for claim "default/data"',
    `ProvisioningSucceeded: Successfully provisioned volume ${volumeName}`,
  ])
    assert.ok(said.includes(one), `${one}\nis not among\n${said.join("\n")}`);

  await client.patch(PersistentVolumeClaim, { namespace, name: "data" }, "merge", { spec: requests("3Gi") });
  await until(async () => {
    const { status } = await client.get(PersistentVolumeClaim, { namespace, name: "data" });
    return status.capacity?.storage === "3Gi" && status.conditions === undefined;
  });
  assert.equal((await client.get(PersistentVolume, { name: volumeName })).spec.capacity?.storage, "3Gi");
  await until(async () =>
    (await eventsOf(cluster, "data")).includes("VolumeResizeSuccessful: Resize volume succeeded"),
  );
  assert.equal((await client.get(Pod, { namespace, name: "web" })).status.phase, "Running");
});

test("a pod whose volume is on a lost node waits for that node, and goes nowhere else", async () => {
  await using cluster = await startCluster({ nodes: 2 });
  const { client, until, advance, nodes } = cluster;
  await client.create(PersistentVolumeClaim, claim("data"));
  await client.create(Pod, user("first", "data"));
  const bound = async (name: string) => (await client.get(Pod, { namespace, name })).spec.nodeName;
  await until(async () => (await bound("first")) !== undefined);
  const node = (await bound("first")) ?? "";
  await client.delete(Pod, { namespace, name: "first" }, { graceSeconds: 0 });
  nodes.stop(node);
  await advance(60_000);
  await client.create(Pod, user("second", "data"));
  await advance(30_000);
  assert.equal(await bound("second"), undefined);
  const { conditions } = (await client.get(Pod, { namespace, name: "second" })).status;
  assert.match(
    conditions?.find(({ type }) => type === "PodScheduled")?.message ?? "",
    /didn't match PersistentVolume's node affinity/,
  );
  nodes.start(node);
  await until(async () => (await bound("second")) === node, 600_000);
});

test("volumes made by hand are bound by size, class and mode; a claim that names one gets it; what is left behind is released", async () => {
  await using cluster = await startCluster();
  const { client, until } = cluster;
  const volume = (name: string, storage: string, spec: object = {}) => ({
    metadata: { name },
    spec: { capacity: { storage }, accessModes, hostPath: { path: `/disks/${name}` }, ...spec },
  });
  for (const one of [volume("large", "10Gi"), volume("small", "2Gi"), volume("tiny", "500Mi"), volume("named", "50Gi")])
    await client.create(PersistentVolume, one);
  await client.create(PersistentVolume, volume("kept-for", "1Gi", { claimRef: { namespace, name: "expected" } }));
  const none = { storageClassName: "" };
  await client.create(PersistentVolumeClaim, claim("any", none));
  await client.create(PersistentVolumeClaim, claim("chosen", { ...none, volumeName: "named" }));
  await client.create(PersistentVolumeClaim, claim("too-large", { ...none, volumeName: "tiny" }));
  await client.create(PersistentVolumeClaim, claim("expected", none));
  const volumeOf = async (name: string) =>
    (await client.get(PersistentVolumeClaim, { namespace, name })).spec.volumeName ?? "";
  for (const name of ["any", "chosen", "expected"]) await until(async () => (await phaseOf(cluster, name)) === "Bound");
  assert.deepEqual(
    [await volumeOf("any"), await volumeOf("chosen"), await volumeOf("expected")],
    ["small", "named", "kept-for"],
  );
  await until(async () =>
    (await eventsOf(cluster, "too-large")).includes(
      'VolumeMismatch: Cannot bind to requested volume "tiny": requested PV is too small',
    ),
  );
  assert.equal(await phaseOf(cluster, "too-large"), "Pending");

  await client.delete(PersistentVolumeClaim, { namespace, name: "any" });
  await until(async () => (await client.get(PersistentVolume, { name: "small" })).status.phase === "Released");
  await client.create(PersistentVolumeClaim, claim("any", none));
  await until(async () => (await phaseOf(cluster, "any")) === "Bound");
  assert.equal(await volumeOf("any"), "large", "what was written to the other may be somebody's");
  // The volume goes although it is bound: its finalizer is taken away by hand.
  await client.delete(PersistentVolume, { name: "large" });
  await client.patch(PersistentVolume, { name: "large" }, "merge", { metadata: { finalizers: null } });
  await until(async () => (await phaseOf(cluster, "any")) === "Lost");
  const lost = "ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!";
  await until(async () => (await eventsOf(cluster, "any")).includes(lost));
});

test("a claim without a class gets the default one when there is one, and a pod's own volume comes and goes with it", async () => {
  await using cluster = await startCluster();
  const { client, until, advance } = cluster;
  await client.delete(StorageClass, { name: "local" });
  await client.create(PersistentVolumeClaim, claim("early"));
  await advance(2000);
  assert.deepEqual(await eventsOf(cluster, "early"), [
    "FailedBinding: no persistent volumes available for this claim and no storage class is set",
  ]);
  await client.create(StorageClass, {
    metadata: { name: "later", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner: "knarr.dev/local",
    volumeBindingMode: "WaitForFirstConsumer",
  });
  await until(
    async () =>
      (await client.get(PersistentVolumeClaim, { namespace, name: "early" })).spec.storageClassName === "later",
  );
  const volumeClaimTemplate = { metadata: { labels }, spec: { accessModes, ...requests("1Gi") } };
  await client.create(Pod, user("web", "", { volumes: [{ name: "own", ephemeral: { volumeClaimTemplate } }] }));
  await until(async () => (await client.get(Pod, { namespace, name: "web" })).status.phase === "Running");
  const own = await client.get(PersistentVolumeClaim, { namespace, name: "web-own" });
  assert.deepEqual([own.status.phase, own.metadata.labels], ["Bound", labels]);
  await client.delete(Pod, { namespace, name: "web" });
  await until(async () => (await client.find(PersistentVolumeClaim, own.metadata)) === undefined);
  await until(async () => (await volumes(cluster)).length === 0);
});
