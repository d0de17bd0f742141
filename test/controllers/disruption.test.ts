// Budgets and evictions together, each with no more than it may do.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Eviction } from "#api/policy/v1/eviction.ts";
import { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import { isReason } from "#base/errors.ts";
import { controlledBy } from "#rules/owners.ts";
import { disruptionController } from "../../src/controllers/disruption/disruption.ts";
import { staleDisruptionController } from "../../src/controllers/disruption/stale-targets.ts";
import { discovery, type TestCluster, testCluster } from "./cluster.ts";

const namespace = "default";
const labels = { app: "web" };
const spec = { containers: [{ name: "c", image: "i" }], terminationGracePeriodSeconds: 0 };
const account = "disruption-controller";
const cluster = () =>
  testCluster({
    controllers: [disruptionController(discovery), staleDisruptionController],
    serviceAccounts: { disruption: account, "disruption-targets": account },
  });

async function addPods({ client }: TestCluster, count: number) {
  const selector = { matchLabels: labels };
  const rs = await client.create(ReplicaSet, {
    metadata: { namespace, name: "rs" },
    spec: { replicas: count, selector, template: { metadata: { labels }, spec } },
  });
  for (let i = 0; i < count; i++) {
    const metadata = { namespace, name: `p${i}`, labels, ownerReferences: [controlledBy(ReplicaSet, rs)] };
    const pod = await client.create(Pod, { metadata, spec: { ...spec, nodeName: "n1" } });
    const conditions = [{ type: "Ready", status: "True" }];
    await client.update(Pod, { ...pod, status: { ...pod.status, phase: "Running", conditions } }, "status");
  }
}
const evict = ({ client }: TestCluster, name: string) =>
  client.create(Eviction, { metadata: { namespace, name } }, { of: Pod, subresource: "eviction" });
const allowed = async ({ client }: TestCluster) =>
  (await client.get(PodDisruptionBudget, { namespace, name: "pdb" })).status.disruptionsAllowed;

test("as many pods are evicted as the budget allows, and more once others are back", async () => {
  await using c = await cluster();
  await addPods(c, 4);
  await c.client.create(PodDisruptionBudget, {
    metadata: { namespace, name: "pdb" },
    spec: { maxUnavailable: 2, selector: { matchLabels: labels } },
  });
  await c.until(async () => (await allowed(c)) === 2);
  await evict(c, "p0");
  await evict(c, "p1");
  await assert.rejects(evict(c, "p2"), (error) => isReason(error, "TooManyRequests"));
  await c.until(async () => {
    const { status } = await c.client.get(PodDisruptionBudget, { namespace, name: "pdb" });
    return status.currentHealthy === 2 && status.disruptedPods === undefined;
  });
  assert.equal(await allowed(c), 0);
  const { status } = await c.client.get(PodDisruptionBudget, { namespace, name: "pdb" });
  const [condition] = status.conditions ?? [];
  assert.deepEqual([condition?.status, condition?.reason], ["False", "InsufficientPods"]);
});

test("an eviction that deletes nothing is taken back after two minutes", async () => {
  await using c = await cluster();
  await addPods(c, 2);
  await c.client.create(PodDisruptionBudget, {
    metadata: { namespace, name: "pdb" },
    spec: { minAvailable: "50%", selector: { matchLabels: labels } },
  });
  await c.until(async () => (await allowed(c)) === 1);
  const place = { namespace, name: "pdb" };
  const budget = await c.client.get(PodDisruptionBudget, place);
  const disruptedPods = { p0: "2026-01-01T00:00:00Z" };
  const status = { ...budget.status, disruptedPods, disruptionsAllowed: 0 };
  await c.client.update(PodDisruptionBudget, { ...budget, status }, "status");
  const pod = await c.client.get(Pod, { namespace, name: "p0" });
  const target = { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" };
  const conditions = [...(pod.status.conditions ?? []), { ...target, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  await c.client.update(Pod, { ...pod, status: { ...pod.status, conditions } }, "status");
  await c.server.clock.advance(60_000);
  assert.equal(await allowed(c), 0);
  await c.until(async () => (await allowed(c)) === 1, 1000);
  await c.until(async () => {
    const { status } = await c.client.get(Pod, { namespace, name: "p0" });
    return status.conditions?.find(({ type }) => type === "DisruptionTarget")?.status === "False";
  });
  const { status: after } = await c.client.get(PodDisruptionBudget, place);
  assert.equal(after.disruptedPods, undefined);
});
