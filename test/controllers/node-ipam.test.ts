import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { nodeIpamController } from "../../src/controllers/node-ipam/node-ipam.ts";
import { testCluster } from "./cluster.ts";

const settings = { clusterCidrs: ["10.244.0.0/20", "fd00:10::/56"], serviceCidrs: ["10.96.0.0/16"] };

test("nodes get networks with no more rights than upstream's, each its own, and wait while there is none", async () => {
  await using cluster = await testCluster({
    controllers: [nodeIpamController(settings)],
    serviceAccounts: { "node-ipam": "node-controller" },
  });
  const { client, until } = cluster;
  await client.create(Node, { metadata: { name: "old" }, spec: { podCIDRs: ["10.244.3.0/24", "fd00:10:0:3::/64"] } });
  const names = Array.from({ length: 15 }, (_, i) => `n${i}`);
  for (const name of names) await client.create(Node, { metadata: { name } });
  const networks = async () => (await client.list(Node)).items.flatMap(({ spec }) => spec.podCIDRs?.[0] ?? []);
  await until(async () => (await networks()).length === 16);
  assert.equal(new Set(await networks()).size, 16);

  await client.create(Node, { metadata: { name: "late" } });
  await cluster.server.clock.advance(60_000);
  assert.equal((await client.get(Node, { name: "late" })).spec.podCIDRs, undefined);
  await client.delete(Node, { name: "n7" });
  await cluster.server.clock.advance(60_000);
  await until(async () => (await client.get(Node, { name: "late" })).spec.podCIDRs?.length === 2);
  assert.equal(new Set(await networks()).size, 16);
});
