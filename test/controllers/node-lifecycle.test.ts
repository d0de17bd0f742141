import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Lease } from "#api/coordination/v1/lease.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { isReady } from "#rules/conditions.ts";
import { isActive } from "#rules/pods.ts";
import { microTimeOf, timeOf } from "#schema/time.ts";
import { nodeLifecycleController } from "../../src/controllers/node-lifecycle/node-lifecycle.ts";
import { replicaSetController } from "../../src/controllers/replicaset.ts";
import { taintEvictionController } from "../../src/controllers/taint-eviction.ts";
import { type TestCluster, type TestClusterOptions, testCluster } from "./cluster.ts";

const namespace = "default";
const leases = "kube-node-lease";

const start = (more: Partial<TestClusterOptions> = {}) =>
  testCluster({
    controllers: [nodeLifecycleController(), taintEvictionController(), replicaSetController],
    serviceAccounts: {
      "node-lifecycle": "node-controller",
      "taint-eviction": "node-controller",
      replicaset: "replicaset-controller",
    },
    ...more,
  });

async function addNodes({ client, server }: TestCluster, names: readonly string[]): Promise<void> {
  await client.create(Namespace, { metadata: { name: leases } });
  const at = timeOf(server.clock.now());
  const ready = { type: "Ready", status: "True", lastHeartbeatTime: at, lastTransitionTime: at };
  for (const name of names) {
    const node = await client.create(Node, { metadata: { name } });
    await client.update(Node, { ...node, status: { ...node.status, conditions: [ready] } }, "status");
    await client.create(Lease, { metadata: { namespace: leases, name }, spec: { holderIdentity: name } });
  }
}

/** Lets time pass while the kubelets of these nodes renew their leases every ten seconds. */
async function live({ client, server }: TestCluster, names: readonly string[], seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 10) {
    for (const name of names)
      await client.patch(Lease, { namespace: leases, name }, "merge", {
        spec: { renewTime: microTimeOf(server.clock.now()) },
      });
    await server.clock.advance(10_000);
  }
}

const taintsOf = async ({ client }: TestCluster, name: string) =>
  ((await client.get(Node, { name })).spec.taints ?? [])
    .map(({ key, effect }) => `${key.split("/")[1]}:${effect}`)
    .sort();

test("pods of a node that dies are replaced when the time is over for which they bear that, with no more rights than upstream's", async () => {
  await using cluster = await start();
  const { client, until } = cluster;
  await addNodes(cluster, ["a", "b", "c"]);
  const unreachable = { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" } as const;
  const labels = { app: "web" };
  const spec = {
    nodeName: "c",
    containers: [{ name: "c", image: "i" }],
    tolerations: [{ ...unreachable, tolerationSeconds: 300 }],
  };
  const template = { metadata: { labels }, spec };
  await client.create(ReplicaSet, {
    metadata: { namespace, name: "web" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  });
  const pods = async () => (await client.list(Pod)).items;
  await until(async () => (await pods()).length === 1);
  const [first] = await pods();
  const ready = [{ type: "Ready", status: "True", lastTransitionTime: first?.metadata.creationTimestamp }];
  await client.update(Pod, { ...first!, status: { ...first!.status, phase: "Running", conditions: ready } }, "status");

  await live(cluster, ["a", "b", "c"], 600);
  assert.deepEqual(await taintsOf(cluster, "c"), []);
  await live(cluster, ["a", "b"], 40);
  assert.deepEqual(await taintsOf(cluster, "c"), []);
  await live(cluster, ["a", "b"], 10);
  assert.deepEqual(await taintsOf(cluster, "c"), ["unreachable:NoExecute", "unreachable:NoSchedule"]);
  assert.equal((await pods()).filter(isReady).length, 0);
  const condition = (await client.get(Node, { name: "c" })).status.conditions?.find(({ type }) => type === "Ready");
  assert.deepEqual([condition?.status, condition?.reason], ["Unknown", "NodeStatusUnknown"]);

  await live(cluster, ["a", "b"], 280);
  assert.deepEqual(
    (await pods()).filter(isActive).map(({ metadata }) => metadata.uid),
    [first?.metadata.uid],
  );
  await live(cluster, ["a", "b"], 30);
  const gone = (await pods()).find(({ metadata }) => metadata.uid === first?.metadata.uid);
  assert.ok(gone?.metadata.deletionTimestamp);
  assert.ok(
    gone.status.conditions?.some(
      ({ type, reason }) => type === "DisruptionTarget" && reason === "DeletionByTaintManager",
    ),
  );
  assert.equal((await pods()).filter(isActive).length, 1);

  const node = await client.get(Node, { name: "c" });
  const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime: timeOf(cluster.server.clock.now()) }];
  await client.update(Node, { ...node, status: { ...node.status, conditions } }, "status");
  await live(cluster, ["a", "b", "c"], 10);
  assert.deepEqual(await taintsOf(cluster, "c"), []);
});

test("when no node is heard of any more no pod is deleted, however long that lasts", async () => {
  await using cluster = await start();
  const { client } = cluster;
  await addNodes(cluster, ["a", "b", "c", "d"]);
  for (const nodeName of ["a", "b", "c", "d"])
    await client.create(Pod, {
      metadata: { namespace, name: nodeName },
      spec: { nodeName, containers: [{ name: "c", image: "i" }] },
    });
  await live(cluster, ["a", "b", "c", "d"], 60);
  await live(cluster, [], 3600);
  const pods = (await client.list(Pod)).items.filter(isActive);
  // the first to be missed may be emptied before the last one is
  assert.ok(pods.length >= 3, `${pods.length} of 4 are left`);
  for (const name of ["a", "b", "c", "d"]) assert.deepEqual(await taintsOf(cluster, name), ["unreachable:NoSchedule"]);
});

test("nodes that live cost no writes, and next to no reads", async () => {
  let writes = 0;
  let reads = 0;
  await using cluster = await start({
    transport:
      ({ server }) =>
      (request) => {
        if (["get", "list"].includes(request.verb)) reads++;
        else if (request.verb !== "watch") writes++;
        return server.request(request);
      },
  });
  const names = Array.from({ length: 50 }, (_, i) => `n${i}`);
  await addNodes(cluster, names);
  await live(cluster, names, 60);
  writes = 0;
  reads = 0;
  await live(cluster, names, 600);
  assert.deepEqual([writes, reads], [0, 0]);
});
