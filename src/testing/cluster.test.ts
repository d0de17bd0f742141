import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { isNotFound, isReason } from "#base/errors.ts";
import { node, serviceAccount, userOf } from "#cluster/identities.ts";
import { startCluster } from "./cluster.ts";

const web = (replicas: number) => ({
  metadata: { name: "web", namespace: "default" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "nginx" }] } },
  },
});

test("a deployment becomes pods that run on the nodes, each part doing its own work", async () => {
  await using cluster = await startCluster({ nodes: 3 });
  const { client, until } = cluster;
  await client.create(Deployment, web(3));
  await until(async () => (await client.get(Deployment, web(3).metadata)).status.availableReplicas === 3);
  const pods = (await client.list(Pod)).items;
  assert.deepEqual(
    pods.map(({ status }) => status.phase),
    ["Running", "Running", "Running"],
  );
  assert.deepEqual(pods.map(({ spec }) => spec.nodeName).toSorted(), ["sim-0", "sim-1", "sim-2"]);
  const writers = new Set(pods.flatMap(({ metadata }) => metadata.managedFields?.map(({ manager }) => manager)));
  assert.deepEqual([...writers].toSorted(), ["kube-controller-manager", "kubelet"]);
});

test("a deleted deployment takes its pods with it", async () => {
  await using cluster = await startCluster();
  await cluster.client.create(Deployment, web(2));
  await cluster.until(async () => (await cluster.client.list(Pod)).items.length === 2);
  await cluster.client.delete(Deployment, web(2).metadata);
  await cluster.until(async () => (await cluster.client.list(Pod)).items.length === 0);
});

test("a namespace gets its service account, and goes with all it holds", async () => {
  await using cluster = await startCluster();
  const { client, until } = cluster;
  await client.create(Namespace, { metadata: { name: "shop" } });
  await until(async () => (await client.find(ServiceAccount, { namespace: "shop", name: "default" })) !== undefined);
  await client.delete(Namespace, { name: "shop" });
  await until(async () => (await client.find(Namespace, { name: "shop" })) === undefined);
});

test("a controller may do no more over the process's own way than over the network", async () => {
  await using cluster = await startCluster();
  const controller = cluster.as(serviceAccount("replicaset-controller"));
  await assert.rejects(controller.delete(Namespace, { name: "default" }), (error) => isReason(error, "Forbidden"));
  await assert.rejects(cluster.client.get(Pod, { namespace: "default", name: "none" }), isNotFound);
});

test("a node may write itself, and neither another node nor pods that would give it more", async () => {
  await using cluster = await startCluster({ nodes: 2 });
  const self = cluster.as(userOf(node("sim-0")));
  const isForbidden = (error: unknown) => isReason(error, "Forbidden");
  const cordon = { spec: { unschedulable: true } };
  await self.patch(Node, { name: "sim-0" }, "merge", cordon);
  await assert.rejects(self.patch(Node, { name: "sim-1" }, "merge", cordon), isForbidden);
  const admin = { metadata: { name: "admin", namespace: "kube-system" } };
  await cluster.client.create(ServiceAccount, admin);
  const spec = { nodeName: "sim-0", serviceAccountName: "admin", containers: [{ name: "c", image: "i" }] };
  await assert.rejects(self.create(Pod, { ...admin, spec }), isForbidden);
});

test("the administrator's rights come from a binding, and go with it", async () => {
  await using cluster = await startCluster();
  const { client, until } = cluster;
  const name = "kubeadm:cluster-admins";
  assert.equal((await client.get(ClusterRoleBinding, { name })).roleRef.name, "cluster-admin");
  await client.delete(ClusterRoleBinding, { name });
  await until(async () => {
    try {
      await client.list(Pod);
      return false;
    } catch (error) {
      return isReason(error, "Forbidden");
    }
  });
});

test("the pods of a dead node move after the time they tolerate it, and not before", async () => {
  await using cluster = await startCluster({ nodes: 2 });
  const { client, until, clock } = cluster;
  await client.create(Deployment, web(2));
  await until(async () => (await client.get(Deployment, web(2).metadata)).status.availableReplicas === 2);
  const on = async (node: string) =>
    (await client.list(Pod)).items.filter(
      ({ spec, metadata }) => spec.nodeName === node && !metadata.deletionTimestamp,
    );
  assert.equal((await on("sim-0")).length, 1);

  cluster.nodes.stop("sim-0");
  const died = clock.elapsed();
  const isUnreachable = async () =>
    (await client.get(Node, { name: "sim-0" })).spec.taints?.some(
      ({ key, effect }) => key === "node.kubernetes.io/unreachable" && effect === "NoExecute",
    ) ?? false;
  await until(isUnreachable, 120_000);
  const tainted = clock.elapsed();
  assert.ok(tainted - died >= 40_000, "a silent node gets its grace");
  await until(async () => (await on("sim-1")).length === 2, 600_000);
  const moved = clock.elapsed() - tainted;
  assert.ok(moved >= 300_000 && moved < 310_000, `after ${moved} ms`);
  assert.equal((await on("sim-0")).length, 0);
});
