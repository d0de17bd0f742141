import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "#base/breathe.ts";
import { ManualClock } from "#base/clock.ts";
import { MemoryStore } from "#store/memory.ts";
import { type TestServer, testServer } from "../testing.ts";

const { signal } = new AbortController();
const at = (address: string | undefined) => ({ address, port: 6443 });
const read = async (server: TestServer, path: string) => (await server.call("GET", path)).json;
const names = async (server: TestServer, path: string): Promise<readonly string[]> =>
  (await read(server, path)).items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);

/** Waits until it is said of every flow schema whether its level exists. */
async function flowSchemasTold(server: TestServer): Promise<void> {
  const { items } = await read(server, "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas");
  if (items.every(({ status }: { status: { conditions?: unknown[] } }) => status.conditions)) return;
  await turn();
  await flowSchemasTold(server);
}

test("a server makes the objects that every cluster has, once", async () => {
  await using server = await testServer();
  const system = server.server.system(at("192.0.2.1"));
  await system.reconcile(signal);
  assert.deepEqual(await names(server, "/api/v1/namespaces"), [
    "default",
    "kube-node-lease",
    "kube-public",
    "kube-system",
  ]);
  assert.deepEqual(await names(server, "/apis/scheduling.k8s.io/v1/priorityclasses"), [
    "system-cluster-critical",
    "system-node-critical",
  ]);
  const { spec } = await read(server, "/api/v1/namespaces/default/services/kubernetes");
  assert.deepEqual(
    [spec.clusterIP, spec.ports],
    ["10.96.0.1", [{ name: "https", protocol: "TCP", port: 443, targetPort: 6443 }]],
  );
  const cidr = await read(server, "/apis/networking.k8s.io/v1/servicecidrs/kubernetes");
  assert.deepEqual(cidr.spec.cidrs, ["10.96.0.0/16"]);
  const endpoints = await read(server, "/api/v1/namespaces/default/endpoints/kubernetes");
  const ports = [{ name: "https", port: 6443, protocol: "TCP" }];
  assert.deepEqual(endpoints.subsets, [{ addresses: [{ ip: "192.0.2.1" }], ports }]);
  const path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
  const slice = await read(server, path);
  assert.deepEqual(
    [slice.addressType, slice.endpoints, slice.ports],
    ["IPv4", [{ addresses: ["192.0.2.1"], conditions: { ready: true } }], ports],
  );

  await system.reconcile(signal);
  assert.equal((await read(server, path)).metadata.resourceVersion, slice.metadata.resourceVersion);
});

test("what is taken away comes back, and what people changed stays", async () => {
  await using server = await testServer();
  const system = server.server.system(at("192.0.2.1"));
  await system.reconcile(signal);
  const service = "/api/v1/namespaces/default/services/kubernetes";
  await server.call("DELETE", service);
  const label = { metadata: { labels: { mine: "yes" } } };
  await server.call("PATCH", "/api/v1/namespaces/kube-public", label, {
    "content-type": "application/merge-patch+json",
  });
  await system.reconcile(signal);
  assert.equal((await read(server, service)).spec.clusterIP, "10.96.0.1");
  assert.equal((await read(server, "/api/v1/namespaces/kube-public")).metadata.labels?.mine, "yes");
});

test("the service leads to the servers that are alive", async () => {
  const store = new MemoryStore({ clock: new ManualClock() });
  const one = await testServer({ store });
  await using two = await testServer({ store });
  const [first, second] = [one.server.system(at("192.0.2.1")), two.server.system(at("192.0.2.2"))];
  await Promise.all([first.reconcile(signal), second.reconcile(signal)]);
  await first.reconcile(signal);
  const addresses = async () =>
    (await read(two, "/api/v1/namespaces/default/endpoints/kubernetes")).subsets[0].addresses.map(
      ({ ip }: { ip: string }) => ip,
    );
  assert.deepEqual(await addresses(), ["192.0.2.1", "192.0.2.2"]);
  const stop = new AbortController();
  const running = first.run(stop.signal);
  stop.abort(new Error("the server stops"));
  await running;
  await second.reconcile(signal);
  assert.deepEqual(await addresses(), ["192.0.2.2"]);
});

test("a server that pods cannot reach does not say that they can", async () => {
  await using server = await testServer({ addresses: "fd00:10:96::/112" });
  await server.server.system(at(undefined)).reconcile(signal);
  assert.equal((await read(server, "/api/v1/namespaces/default/services/kubernetes")).spec.clusterIP, "fd00:10:96::1");
  assert.equal((await server.call("GET", "/api/v1/namespaces/default/endpoints/kubernetes")).code, 404);
});

test("a server tells which versions it serves itself, how it divides itself, and whom it believes", async () => {
  await using server = await testServer();
  const system = server.server.system({ ...at("192.0.2.1"), clientCa: "a certificate" });
  await system.reconcile(signal);
  const services = (await read(server, "/apis/apiregistration.k8s.io/v1/apiservices")).items;
  assert.equal(services.length, 21);
  assert.deepEqual(
    services.filter(
      ({ status }: { status: { conditions: { reason: string }[] } }) => status.conditions[0]?.reason !== "Local",
    ),
    [],
  );
  await flowSchemasTold(server);
  const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1";
  const schemas = (await read(server, `${flowControl}/flowschemas`)).items;
  const levels = new Set(await names(server, `${flowControl}/prioritylevelconfigurations`));
  assert.deepEqual([schemas.length, levels.size], [11, 8]);
  for (const { spec, status } of schemas) {
    assert.ok(levels.has(spec.priorityLevelConfiguration.name));
    assert.deepEqual([status.conditions[0].type, status.conditions[0].status], ["Dangling", "False"]);
  }
  const maps = "/api/v1/namespaces/kube-system/configmaps";
  const info = `${maps}/extension-apiserver-authentication`;
  assert.deepEqual((await read(server, info)).data, { "client-ca-file": "a certificate" });
  assert.match(
    (await read(server, `${maps}/kube-apiserver-legacy-service-account-token-tracking`)).data.since,
    /^\d{4}-\d\d-\d\d$/,
  );
  await server.call(
    "PATCH",
    info,
    { data: { "client-ca-file": "another", mine: "yes" } },
    { "content-type": "application/merge-patch+json" },
  );
  await system.reconcile(signal);
  assert.deepEqual((await read(server, info)).data, { "client-ca-file": "a certificate", mine: "yes" });
});

test("a round that finds everything as it should be writes nothing but what says that the server is alive", async () => {
  await using server = await testServer();
  await server.server.system(at(undefined)).reconcile(signal);
  await flowSchemasTold(server);
  const before = await server.store.revision();
  await server.server.system(at(undefined)).reconcile(signal);
  assert.equal(await server.store.revision(), before);
});

test("a server has a lease, which it renews, and removes those of servers that are no more", async () => {
  await using server = await testServer();
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  const of = (hostname: string) => server.server.system({ ...at("192.0.2.1"), hostname });
  await of("one").reconcile(signal);
  const [lease] = (await read(server, leases)).items;
  assert.match(lease.metadata.name, /^apiserver-[a-z2-7]{26}$/);
  assert.equal(lease.metadata.annotations["kubernetes.io/peer-advertise-address"], "192.0.2.1:6443");
  assert.deepEqual(lease.metadata.labels, {
    "apiserver.kubernetes.io/identity": "kube-apiserver",
    "kubernetes.io/hostname": "one",
  });
  assert.ok(lease.spec.holderIdentity.startsWith(`${lease.metadata.name}_`));
  await server.clock.advance(10_000);
  await of("one").reconcile(signal);
  await of("two").reconcile(signal);
  const [again, other] = (await read(server, leases)).items.toSorted(
    (a: typeof lease, b: typeof lease) =>
      Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp),
  );
  assert.equal(again.metadata.uid, lease.metadata.uid);
  assert.equal(Date.parse(again.spec.renewTime) - Date.parse(lease.spec.renewTime), 10_000);
  await server.clock.advance(3_601_000);
  await of("two").reconcile(signal);
  assert.deepEqual(await names(server, leases), [other.metadata.name]);
});
