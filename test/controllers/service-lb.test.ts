import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/v1/service.ts";
import { serviceLbController } from "../../src/controllers/service-lb/service-lb.ts";
import { type TestCluster, testCluster } from "./cluster.ts";

const namespace = "default";
const cluster = () =>
  testCluster({
    controllers: [serviceLbController(["172.31.255.1-172.31.255.20"])],
    serviceAccounts: { service: "service-controller" },
  });
const add = ({ client }: TestCluster, name: string) =>
  client.create(Service, { metadata: { namespace, name }, spec: { type: "LoadBalancer", ports: [{ port: 80 }] } });
const given = async ({ client }: TestCluster) =>
  (await client.list(Service, { namespace })).items.flatMap(({ status }) => status.loadBalancer.ingress ?? []);

test("services get addresses, give them back, and those that wait get them", async () => {
  await using c = await cluster();
  await Promise.all(Array.from({ length: 22 }, (_, i) => add(c, `s${i}`)));
  await c.until(async () => (await given(c)).length === 20);
  assert.equal(new Set((await given(c)).map(({ ip }) => ip)).size, 20);
  const { items } = await c.client.list(Service, { namespace });
  const [first, second] = items.filter(({ status }) => status.loadBalancer.ingress);
  await c.client.delete(Service, first!.metadata);
  await c.until(async () => (await c.client.find(Service, first!.metadata)) === undefined);
  await c.until(async () => (await given(c)).length === 20);
  await c.client.patch(Service, second!.metadata, "merge", { spec: { type: "ClusterIP" } });
  await c.until(async () => (await given(c)).length === 20);
  const after = await c.client.get(Service, second!.metadata);
  assert.deepEqual([after.status.loadBalancer, after.metadata.finalizers], [{}, undefined]);
  assert.equal(new Set((await given(c)).map(({ ip }) => ip)).size, 20);
});
