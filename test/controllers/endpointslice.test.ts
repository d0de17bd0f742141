// Slices under the identity that makes them, with the permissions that it has, on a server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Endpoints } from "#api/core/v1/endpoints.ts";
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Transport } from "#client/client.ts";
import { endpointsController } from "../../src/controllers/endpoints/endpoints.ts";
import { endpointSliceController } from "../../src/controllers/endpointslice/endpointslice.ts";
import { endpointSliceMirroringController } from "../../src/controllers/endpointslice/mirroring.ts";
import { type TestCluster, testCluster } from "./cluster.ts";

const namespace = "default";

export async function addPod({ client }: TestCluster, name: string, ip: string, labels = { app: "web" }) {
  const spec = { nodeName: "n1", containers: [{ name: "c", image: "i" }] };
  const pod = await client.create(Pod, { metadata: { namespace, name, labels }, spec });
  const conditions = [{ type: "Ready", status: "True" }];
  return client.update(
    Pod,
    { ...pod, status: { ...pod.status, phase: "Running", podIPs: [{ ip }], conditions } },
    "status",
  );
}
const addService = ({ client }: TestCluster, name: string, selector: Record<string, string> | undefined) =>
  client.create(Service, {
    metadata: { namespace, name },
    spec: { ports: [{ port: 80 }], ...(selector && { selector }) },
  });

const addresses = async ({ client }: TestCluster, service: string) => {
  const labelSelector = `kubernetes.io/service-name=${service}`;
  const { items } = await client.list(EndpointSlice, { namespace, labelSelector });
  return items.flatMap(({ endpoints }) => endpoints.flatMap((one) => (one.conditions.ready ? one.addresses : [])));
};

test("slices follow services and pods as they come, change and go", async () => {
  await using c = await testCluster({
    controllers: [endpointSliceController()],
    serviceAccounts: { endpointslice: "endpointslice-controller" },
  });
  const is = async (service: string, expect: readonly string[]) => {
    try {
      await c.until(async () => (await addresses(c, service)).toSorted().join() === expect.join(), 100);
    } catch (cause) {
      throw new Error(`${service} has ${await addresses(c, service)}, expected ${expect}`, { cause });
    }
  };
  await c.client.create(Node, { metadata: { name: "n1" } });
  await addService(c, "web", { app: "web" });
  await addService(c, "narrow", { app: "web", tier: "front" });
  await addPod(c, "a", "10.0.0.1");
  await is("web", ["10.0.0.1"]);
  const b = await addPod(c, "b", "10.0.0.2", { app: "web", ...{ tier: "front" } });
  await is("web", ["10.0.0.1", "10.0.0.2"]);
  await is("narrow", ["10.0.0.2"]);
  await c.client.patch(Pod, b.metadata, "merge", { metadata: { labels: { app: "other" } } });
  await is("web", ["10.0.0.1"]);
  await is("narrow", []);
  await c.client.patch(Service, { namespace, name: "web" }, "merge", { spec: { selector: { app: "other" } } });
  await is("web", ["10.0.0.2"]);

  const { items } = await c.client.list(EndpointSlice, { namespace, labelSelector: "kubernetes.io/service-name=web" });
  assert.equal(items.length, 1);
  await c.client.delete(EndpointSlice, items[0]!.metadata);
  await is("web", ["10.0.0.2"]);
  await c.client.delete(Pod, b.metadata, { graceSeconds: 0 });
  await is("web", []);
});

test("endpoints made by hand are mirrored", async () => {
  await using c = await testCluster({
    controllers: [endpointSliceMirroringController],
    serviceAccounts: { endpointslicemirroring: "endpointslicemirroring-controller" },
  });
  await addService(c, "db", undefined);
  const subsets = [{ addresses: [{ ip: "192.168.0.1" }], ports: [{ port: 5432 }] }];
  await c.client.create(Endpoints, { metadata: { namespace, name: "db" }, subsets });
  await c.until(async () => (await addresses(c, "db")).join() === "192.168.0.1");
  await c.client.patch(Service, { namespace, name: "db" }, "merge", { spec: { selector: { app: "db" } } });
  await c.until(async () => (await addresses(c, "db")).length === 0);
});

test("a pod on an unknown node is reported, and taken up when the node is there", async () => {
  await using c = await testCluster({
    controllers: [endpointSliceController()],
    serviceAccounts: { endpointslice: "endpointslice-controller" },
  });
  await addService(c, "web", { app: "web" });
  await addPod(c, "a", "10.0.0.1");
  await c.until(async () =>
    (await c.client.list(Event)).items.some(({ reason }) => reason === "FailedToUpdateEndpointSlices"),
  );
  await c.client.create(Node, { metadata: { name: "n1" } });
  await c.until(async () => (await addresses(c, "web")).length === 1);
});

test("a rollout of many pods costs few writes", async () => {
  let writes = 0;
  const counting =
    (inner: Transport): Transport =>
    (request) => {
      if (request.resource === "endpointslices" && !["list", "watch"].includes(request.verb)) writes++;
      return inner(request);
    };
  await using c = await testCluster({
    controllers: [endpointSliceController()],
    transport: ({ server }) => counting(server.request),
  });
  await c.client.create(Node, { metadata: { name: "n1" } });
  await addService(c, "web", { app: "web" });
  const count = 400;
  for (let i = 0; i < count; i++) await addPod(c, `p${i}`, `10.0.${Math.floor(i / 200)}.${(i % 200) + 1}`);
  await c.until(async () => (await addresses(c, "web")).length === count);
  assert.ok(writes <= 20, `${writes} writes for ${count} pods`);
  const { items } = await c.client.list(EndpointSlice, { namespace });
  assert.ok(items.every(({ endpoints }) => endpoints.length <= 100));
});

test("endpoints follow services and pods, too, and go with their service", async () => {
  await using c = await testCluster({
    controllers: [endpointsController()],
    serviceAccounts: { endpoint: "endpoint-controller" },
  });
  const list = async () =>
    (await c.client.find(Endpoints, { namespace, name: "web" }))?.subsets?.flatMap(({ addresses = [] }) => addresses);
  await addService(c, "web", { app: "web" });
  await addPod(c, "a", "10.0.0.1");
  await c.until(async () => (await list())?.[0]?.ip === "10.0.0.1");
  await c.client.delete(Endpoints, { namespace, name: "web" });
  await c.until(async () => (await list())?.length === 1);
  const byHand = { metadata: { namespace, name: "alone" }, subsets: [{ addresses: [{ ip: "192.168.0.1" }] }] };
  await c.client.create(Endpoints, byHand);
  await c.client.delete(Service, { namespace, name: "web" });
  await c.until(async () => (await c.client.find(Endpoints, { namespace, name: "web" })) === undefined);
  assert.ok(await c.client.find(Endpoints, { namespace, name: "alone" }));
});
