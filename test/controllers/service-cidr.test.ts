// Ranges of service addresses with a real API server: it gives out addresses of them, and the controller lets them come and go.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { Service } from "#api/core/v1/service.ts";
import { IPAddress } from "#api/networking/v1/ip-address.ts";
import { ServiceCIDR } from "#api/networking/v1/service-cidr.ts";
import { serviceCidrController } from "../../src/controllers/service-cidr.ts";
import { ttlController } from "../../src/controllers/ttl.ts";
import { testCluster } from "./cluster.ts";

test("a range is added, used, and goes when nothing uses it any more, by an account that may do no more", async () => {
  await using c = await testCluster({
    controllers: [serviceCidrController],
    serviceAccounts: { "service-cidr": "service-cidrs-controller" },
    components: ({ server }) => [server.server.system({ address: undefined, port: 6443 })],
  });
  const name = "more";
  const ready = async () => (await c.client.find(ServiceCIDR, { name }))?.status.conditions?.[0];
  await c.client.create(ServiceCIDR, { metadata: { name }, spec: { cidrs: ["10.7.0.0/24"] } });
  await c.until(async () => (await ready())?.status === "True");
  const web = { name: "web", namespace: "default" };
  await c.client.create(Service, { metadata: web, spec: { clusterIP: "10.7.0.9", ports: [{ port: 80 }] } });
  await c.until(async () => (await c.client.find(IPAddress, { name: "10.7.0.9" })) !== undefined);

  await c.client.delete(ServiceCIDR, { name });
  await c.until(async () => (await ready())?.reason === "Terminating");
  await c.server.clock.advance(60_000);
  assert.ok(await ready(), "an address is in use");
  const late = { metadata: { ...web, name: "late" }, spec: { clusterIP: "10.7.0.10", ports: [{ port: 80 }] } };
  await assert.rejects(c.client.create(Service, late), /does not match the current range/);
  await c.client.delete(Service, web);
  await c.until(async () => (await ready()) === undefined);
  assert.equal(await c.client.find(IPAddress, { name: "10.7.0.9" }), undefined);
});

test("a node is told how long it may believe what it has read, by an account that may do no more", async () => {
  await using c = await testCluster({ controllers: [ttlController()], serviceAccounts: { ttl: "ttl-controller" } });
  await c.client.create(Node, { metadata: { name: "a" } });
  const ttl = async () =>
    (await c.client.get(Node, { name: "a" })).metadata.annotations?.["node.alpha.kubernetes.io/ttl"];
  await c.until(async () => (await ttl()) === "0");
});
