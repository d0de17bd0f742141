// What aggregated APIs mean for the parts of this process, for other API servers, and for the objects of what a server serves itself.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { remoteConnections } from "#apiserver/host/remote-connections.ts";
import { discoveryOf } from "#apiserver/served/discovery.ts";
import { type TestServer, testServer } from "#apiserver/testing.ts";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { runControllers } from "#client/run-controllers.ts";
import type { StoreEngine } from "#store/engine.ts";
import { MemoryStore } from "#store/memory.ts";
import { GarbageCollector } from "../../src/controllers/garbage/collector.ts";
import { namespaceController } from "../../src/controllers/namespace.ts";
import { aggregatedServer, group, proxyClient, servingAuthority } from "./aggregated-server.ts";

const services = "/apis/apiregistration.k8s.io/v1/apiservices";
const user = { name: "system:kube-controller-manager", groups: ["system:masters", "system:authenticated"] };
const apiService = {
  metadata: { name: `v1.${group}` },
  spec: {
    group,
    version: "v1",
    service: { namespace: "default", name: "aqua" },
    caBundle: Buffer.from(servingAuthority.cert).toString("base64"),
    groupPriorityMinimum: 2000,
    versionPriority: 10,
  },
};
/** The certificate names the service, wherever the request is sent. */
const service = { metadata: { name: "aqua" }, spec: { type: "ExternalName", externalName: "localhost" } };

async function world(t: TestContext, parts: (server: TestServer) => readonly Component[] = () => []) {
  const aqua = await aggregatedServer();
  const pair = proxyClient();
  const connections = remoteConnections(() => pair);
  const connection = {
    send: (target: Parameters<typeof connections.send>[0], sent: Parameters<typeof connections.send>[1]) =>
      connections.send({ ...target, host: "aqua.sea.svc", dialAddress: "127.0.0.1", port: aqua.port }, sent),
  };
  const server = await testServer({ aggregation: { connection, routesToEndpoints: true } });
  const stop = new AbortController();
  const running = supervise([server.server.aggregator, ...parts(server)], stop.signal);
  t.after(async () => {
    stop.abort(new Error("the test is over"));
    await running;
    connections.close();
    await server[Symbol.asyncDispose]();
    await aqua[Symbol.asyncDispose]();
  });
  for (const name of ["default", "sea"]) await server.call("POST", "/api/v1/namespaces", { metadata: { name } });
  await server.call("POST", "/api/v1/namespaces/default/services", service);
  return { ...server, aqua, until: untilIn(server) };
}

const untilIn =
  ({ clock }: TestServer) =>
  async (isSo: () => Promise<boolean> | boolean, what = "it did not come to that") => {
    for (let i = 0; i < 2000; i++) {
      if (await isSo()) return;
      await pause(1);
      await clock.advance(20);
    }
    assert.fail(what);
  };

/** The controllers that deal with all kinds there are. */
function collectors({ server, clock }: TestServer): readonly Component[] {
  const context = { clock, random: seededRandom(7), log: silentLog };
  const { signal } = new AbortController();
  const client = new Client({ transport: server.request, user, userAgent: "test/1", signal });
  const informers = new Informers({ ...context, client });
  const discovery = discoveryOf(server.apis, server.aggregator.discovery);
  return [
    informers,
    runControllers([namespaceController(discovery)], { ...context, client, informers, clientFor: () => client }),
    new GarbageCollector({ client, informers, discovery, clock, log: silentLog }),
  ];
}

test("a namespace is emptied of what an aggregated server has in it", async (t) => {
  const { aqua, call, until, server } = await world(t, collectors);
  await call("POST", services, apiService);
  await until(() => server.aggregator.discovery.kinds.length > 0, "discovered");
  aqua.put("sea", "nemo");
  aqua.put("elsewhere", "dory");
  await call("DELETE", "/api/v1/namespaces/sea");
  await until(async () => (await call("GET", "/api/v1/namespaces/sea")).code === 404, "the namespace is gone");
  assert.deepEqual([...aqua.fish.keys()], ["elsewhere/dory"]);
});

test("while an aggregated server is silent, a namespace says so and waits, and others' garbage is collected", async (t) => {
  const { aqua, call, until } = await world(t, collectors);
  aqua.isIll = true;
  await call("POST", services, apiService);
  const condition = async (type: string) => {
    const { json } = await call("GET", "/api/v1/namespaces/sea");
    const found = json.status?.conditions?.find((one: { type: string }) => one.type === type);
    return found && `${found.status} ${found.reason} ${found.message}`;
  };
  const owner = (await call("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "owner" } })).json;
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid }];
  await call("POST", "/api/v1/namespaces/default/secrets", { metadata: { name: "owned", ownerReferences } });
  await call("POST", "/api/v1/namespaces/sea/configmaps", { metadata: { name: "a" } });
  await call("DELETE", "/api/v1/namespaces/sea");
  await until(async () => (await condition("NamespaceDeletionDiscoveryFailure")) !== undefined, "told");
  assert.equal(
    await condition("NamespaceDeletionDiscoveryFailure"),
    `True DiscoveryFailed Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: ${group}/v1: stale GroupVersion discovery: ${group}/v1`,
  );
  await until(
    async () => (await call("GET", "/api/v1/namespaces/sea/configmaps/a")).code === 404,
    "emptied of the rest",
  );
  await call("DELETE", "/api/v1/namespaces/default/configmaps/owner");
  await until(async () => (await call("GET", "/api/v1/namespaces/default/secrets/owned")).code === 404, "collected");
  aqua.isIll = false;
  await until(async () => (await call("GET", "/api/v1/namespaces/sea")).code === 404, "gone once it answers");
});

test("parts of the process reach an aggregated API as clients do: lists, watches, refusals", async (t) => {
  const { aqua, call, until, server } = await world(t);
  await call("POST", services, apiService);
  await until(() => server.aggregator.apis.all[0]?.isAvailable ?? false);
  await until(() => server.aggregator.discovery.kinds.length > 0);
  const [Fish] = server.aggregator.discovery.kinds;
  assert.ok(Fish);
  const client = new Client({ transport: server.request, user, userAgent: "t", signal: new AbortController().signal });
  aqua.put("sea", "nemo");
  const { items } = await client.list(Fish, {});
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ["nemo"],
  );
  await assert.rejects(client.get(Fish, { namespace: "sea", name: "dory" }), /"dory" not found/);
  assert.ok(aqua.requests.some((one) => one.includes("fishes") && one.includes(user.name)));
});

/** A store as it is seen by one of several who write to it. */
const sharedView = (store: StoreEngine): StoreEngine => ({
  get: (...args) => store.get(...args),
  list: (...args) => store.list(...args),
  put: (...args) => store.put(...args),
  delete: (...args) => store.delete(...args),
  watch: (...args) => store.watch(...args),
  revision: (...args) => store.revision(...args),
  compact: (...args) => store.compact(...args),
  status: (...args) => store.status(...args),
  close: async () => undefined,
});

test("each API server on a store serves what was registered at another", async (t) => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const store = new MemoryStore({ clock });
  const [one, two] = [await testServer({ store: sharedView(store) }), await testServer({ store: sharedView(store) })];
  t.after(async () => {
    await one[Symbol.asyncDispose]();
    await two[Symbol.asyncDispose]();
    await store.close();
  });
  await one.call("POST", services, apiService);
  await untilIn(two)(() => two.server.aggregator.apis.find(group, "v1") !== undefined);
  const { json } = await two.call("GET", `/apis/${group}`);
  assert.equal(json.name, group);
  assert.equal((await two.call("GET", `/apis/${group}/v1/fishes`)).text, "service unavailable\n");
  await two.call("DELETE", `${services}/v1.${group}`);
  await untilIn(one)(() => one.server.aggregator.apis.find(group, "v1") === undefined);
});

const definition = (served: boolean) => ({
  metadata: { name: "boats.sea.example.com" },
  spec: {
    group: "sea.example.com",
    scope: "Namespaced",
    names: { plural: "boats", singular: "boat", kind: "Boat", listKind: "BoatList" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
      { name: "v2", served, storage: false, schema: { openAPIV3Schema: { type: "object" } } },
    ],
  },
});

test("versions of custom resources have API services of their own, which come and go with them", async (t) => {
  const { call, until } = await world(t);
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  assert.equal((await call("POST", definitions, definition(true))).code, 201);
  const get = (version: string) => call("GET", `${services}/${version}.sea.example.com`);
  await until(async () => (await get("v2")).json.status?.conditions !== undefined);
  const { json } = await get("v2");
  assert.deepEqual(json.metadata.labels, { "kube-aggregator.kubernetes.io/automanaged": "true" });
  assert.deepEqual(json.spec, {
    group: "sea.example.com",
    version: "v2",
    groupPriorityMinimum: 1000,
    versionPriority: 100,
  });
  assert.equal(json.status.conditions[0].reason, "Local");
  const merge = { "content-type": "application/merge-patch+json" };
  await call("PATCH", `${services}/v2.sea.example.com`, { spec: { versionPriority: 7 } }, merge);
  await until(async () => (await get("v2")).json.spec.versionPriority === 100, "put right");
  await call("DELETE", `${services}/v1.sea.example.com`);
  await until(async () => (await get("v1")).code === 200, "made again");
  await call("PATCH", `${definitions}/boats.sea.example.com`, { spec: definition(false).spec }, merge);
  await until(async () => (await get("v2")).code === 404, "gone with the version");
  await call("PATCH", `${services}/v1.sea.example.com`, { metadata: { labels: null } }, merge);
  await call("PATCH", `${services}/v1.sea.example.com`, { spec: { versionPriority: 7 } }, merge);
  await call("DELETE", `${definitions}/boats.sea.example.com`);
  await until(async () => (await call("GET", definitions)).json.items.length === 0);
  assert.equal((await get("v1")).json.spec.versionPriority, 7); // a person's
});
