import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { clusterRoleAggregationController } from "../../src/controllers/clusterrole-aggregation.ts";
import { testCluster } from "./cluster.ts";

test("admin, edit and view are filled, and grow with what is added, by an account that may do no more", async () => {
  await using c = await testCluster({
    controllers: [clusterRoleAggregationController],
    serviceAccounts: { "clusterrole-aggregation": "clusterrole-aggregation-controller" },
  });
  const rulesOf = async (name: string) => (await c.client.get(ClusterRole, { name })).rules ?? [];
  await c.until(async () => {
    const all = await Promise.all(["admin", "edit", "view"].map(rulesOf));
    return all.every((rules) => rules.length > 5);
  });
  const reads = (resource: string) => async () =>
    (await rulesOf("view")).some(({ resources }) => resources?.includes(resource));
  assert.equal(await reads("crontabs")(), false);
  await c.client.create(ClusterRole, {
    metadata: { name: "crontabs-view", labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
    rules: [{ verbs: ["get"], apiGroups: ["example.com"], resources: ["crontabs"] }],
  });
  await c.until(reads("crontabs"));
  // admin has what edit has, which has what view has.
  await c.until(async () => (await rulesOf("admin")).some(({ resources }) => resources?.includes("crontabs")));
  const { metadata } = await c.client.get(ClusterRole, { name: "view" });
  assert.ok(metadata.managedFields?.some(({ manager }) => manager === "clusterrole-aggregation-controller"));
  await c.client.delete(ClusterRole, { name: "crontabs-view" });
  await c.until(async () => !(await reads("crontabs")()));
});
