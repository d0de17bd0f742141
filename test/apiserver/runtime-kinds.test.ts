// A kind with a JSON schema comes to a running server through the set of served APIs alone, is used in every way, and goes again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { discoveryOf } from "#apiserver/served/discovery.ts";
import { type TestAnswer, type TestServer, testServer } from "#apiserver/testing.ts";
import { ManualClock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import type { Discovery } from "#client/discovery.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { structuralKind } from "#schema/structural/kind.ts";
import type { StoreEngine } from "#store/engine.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { MemoryStore } from "#store/memory.ts";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";
import { GarbageCollector } from "../../src/controllers/garbage/collector.ts";
import { namespaceController } from "../../src/controllers/namespace.ts";
import { ResourceQuotaController } from "../../src/controllers/resourcequota/controller.ts";
import { testCluster } from "../controllers/cluster.ts";

const { signal } = new AbortController();
const strategy = () => ({ countsGenerations: true });

const crate = (sizes: object = { type: "integer", minimum: 1, default: 7 }): AnyKind =>
  structuralKind({
    group: "cargo.example",
    version: "v1",
    kind: "Crate",
    plural: "crates",
    shortNames: ["cr"],
    scope: "Namespaced",
    doc: "A box.",
    subresources: { status: true },
    schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            size: sizes,
            parts: {
              type: "array",
              items: {
                type: "object",
                properties: { id: { type: "string" }, note: { type: "string" } },
                required: ["id"],
              },
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["id"],
            },
          },
        },
        status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
  });

const crates = "/apis/cargo.example/v1/namespaces/x/crates";
const all = "/apis/cargo.example/v1/crates";
const named = { apiVersion: "cargo.example/v1", kind: "Crate" };
const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io";
const specOf = ({ json }: TestAnswer) => json.spec as Readonly<Record<string, unknown>>;

async function exercise(server: TestServer): Promise<void> {
  const { call } = server;
  assert.equal((await call("GET", all)).code, 404);
  const kinds = server.server.runtimeKinds("test", strategy);
  await kinds.serve([crate()], signal);

  const made = await call("POST", crates, {
    ...named,
    metadata: { name: "a" },
    spec: { unknown: 1, parts: [{ id: "p" }] },
  });
  assert.deepEqual([made.code, specOf(made)], [201, { parts: [{ id: "p" }], size: 7 }], made.text);
  const refused = await call("POST", crates, { ...named, metadata: { name: "b" }, spec: { size: 0 } });
  assert.equal(refused.code, 422);
  assert.match(refused.text, /spec\.size in body should be greater than or equal to 1/);

  const list = await call("GET", all);
  assert.deepEqual([list.json.kind, list.json.apiVersion], ["CrateList", "cargo.example/v1"]);
  const from = String(made.json.metadata.resourceVersion);
  const changed = await call(
    "PATCH",
    `${crates}/a`,
    { spec: { size: 12 } },
    { "content-type": "application/merge-patch+json" },
  );
  assert.deepEqual([changed.code, specOf(changed).size, changed.json.metadata.generation], [200, 12, 2]);
  const watch = await server.watch(`${all}?watch=1&resourceVersion=${from}`);
  const { value: event } = (await watch.next()) as {
    readonly value: { readonly type: string; readonly object: ApiObject };
  };
  assert.deepEqual(
    [event.type, event.object.metadata.resourceVersion],
    ["MODIFIED", changed.json.metadata.resourceVersion],
  );

  const applied = await call(
    "PATCH",
    `${crates}/a?fieldManager=tool`,
    { apiVersion: "cargo.example/v1", kind: "Crate", spec: { parts: [{ id: "q", note: "mine" }] } },
    { "content-type": "application/apply-patch+yaml" },
  );
  assert.deepEqual(
    specOf(applied).parts,
    [{ id: "p" }, { id: "q", note: "mine" }],
    "a list with keys is merged by them",
  );
  const table = await call("GET", crates, undefined, { accept: tableType });
  assert.equal(table.json.kind, "Table");

  const groups = await call("GET", "/apis");
  assert.match(groups.text, /"cargo\.example"/);
  assert.match((await call("GET", "/apis/cargo.example/v1")).text, /"crates\/status"/);
  const document = await call("GET", "/openapi/v3/apis/cargo.example/v1");
  assert.match(document.text, /"x-kubernetes-list-map-keys":\["id"\]/);
  assert.match((await call("GET", "/openapi/v2")).text, /example\.cargo\.v1\.Crate/);

  // Another form of the same resource takes its place: watches end, what is stored stays, and the resource is never absent.
  const ended = drained(watch);
  await kinds.serve([crate({ type: "integer", maximum: 3 })], signal);
  await ended;
  assert.equal(specOf(await call("GET", `${crates}/a`)).size, 12);
  const tooLarge = await call("POST", crates, { ...named, metadata: { name: "c" }, spec: { size: 4 } });
  assert.equal(tooLarge.code, 422);

  const last = await server.watch(`${all}?watch=1`);
  await last.next();
  const over = drained(last);
  await kinds.serve([], signal);
  await over;
  assert.equal((await call("GET", all)).code, 404);
  assert.doesNotMatch((await call("GET", "/apis")).text, /cargo/);
  assert.equal((await call("GET", "/openapi/v3/apis/cargo.example/v1")).code, 404);

  // It can come back, and finds what it left.
  await kinds.serve([crate()], signal);
  assert.equal(specOf(await call("GET", `${crates}/a`)).size, 12);
  await kinds.serve([], signal);
}

async function drained(events: AsyncIterator<ApiObject>): Promise<void> {
  for (;;) if ((await events.next()).done) return;
}

test("a kind comes, is used in every way, changes and goes on a store in memory", async () => {
  await using server = await testServer({ store: new MemoryStore({ clock: new ManualClock(0) }) });
  await exercise(server);
});

async function started() {
  const cluster = await startEtcd();
  return { endpoints: cluster.endpoints, [Symbol.asyncDispose]: () => cluster.stop() };
}

test("the same on etcd, by two servers of one store", { skip: noEtcd }, async () => {
  await using etcd = await started();
  const { endpoints } = etcd;
  const open = (): StoreEngine =>
    new EtcdStore({ endpoints, clock: systemClock, random: systemRandom, log: silentLog });
  await using one = await testServer({ store: open() });
  await using other = await testServer({ store: open() });
  await exercise(one);
  const kind = crate();
  const sources = [one, other].map(({ server }) => server.runtimeKinds("both", strategy));
  for (const source of sources) await source.serve([kind], signal);
  const watch = await other.watch(`${all}?watch=1&resourceVersion=0`);
  const made = await one.call("POST", crates, { ...named, metadata: { name: "shared" }, spec: { size: 2 } });
  assert.equal(made.code, 201);
  for (let name: string | undefined; name !== "shared"; )
    ({ name } = ((await watch.next()).value as { readonly object: ApiObject }).object.metadata);
  assert.equal(specOf(await other.call("GET", `${crates}/shared`)).size, 2);
  const over = drained(watch);
  for (const source of sources) await source.serve([], signal);
  await over;
});

test("roles, quotas, the garbage collector and namespace deletion treat a kind that came later as any other", async () => {
  const live: { discovery?: Discovery } = {};
  const later: Discovery = {
    discover: async (stop) => live.discovery?.discover(stop) ?? { kinds: [], failures: new Map() },
  };
  await using cluster = await testCluster({
    controllers: [namespaceController(later)],
    components: ({ client, informers, server: { clock, server } }) => {
      live.discovery = discoveryOf(server.apis, server.aggregator.discovery);
      const context = { client, informers, discovery: live.discovery, clock, log: silentLog };
      return [new GarbageCollector(context), new ResourceQuotaController(context)];
    },
    server: {
      admission: admissionOf({ disable: ["ServiceAccount"] }),
      users: { joe: { name: "joe", groups: ["system:authenticated"] } },
      authorizers: ({ rbac }) => [rbac],
    },
  });
  const { server, client, until } = cluster;
  const kind = crate();
  await server.server.runtimeKinds("test", strategy).serve([kind], signal);
  await client.create(Namespace, { metadata: { name: "x" } });

  const joe = { authorization: "Bearer joe" };
  assert.equal((await server.call("GET", crates, undefined, joe)).code, 403);
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/x";
  const rules = [{ apiGroups: ["cargo.example"], resources: ["crates"], verbs: ["list"] }];
  await server.call("POST", `${rbac}/roles`, { metadata: { name: "reader" }, rules });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" };
  const subjects = [{ kind: "User", name: "joe", apiGroup: "rbac.authorization.k8s.io" }];
  await server.call("POST", `${rbac}/rolebindings`, { metadata: { name: "joe" }, roleRef, subjects });
  assert.equal((await server.call("GET", crates, undefined, joe)).code, 200);

  const limit = { "count/crates.cargo.example": "1" };
  await client.create(ResourceQuota, { metadata: { namespace: "x", name: "q" }, spec: { hard: limit } });
  const used = async () => (await client.get(ResourceQuota, { namespace: "x", name: "q" })).status.used;
  await until(async () => (await used())?.["count/crates.cargo.example"] === "0");
  const first = await server.call("POST", crates, { ...named, metadata: { name: "first" } });
  assert.equal(first.code, 201, first.text);
  const second = await server.call("POST", crates, { ...named, metadata: { name: "second" } });
  assert.equal(second.code, 403);
  assert.match(second.text, /exceeded quota: q, requested: count\/crates\.cargo\.example=1/);

  const owner = { apiVersion: "cargo.example/v1", kind: "Crate", name: "first", uid: first.json.metadata.uid ?? "" };
  await client.create(ConfigMap, { metadata: { namespace: "x", name: "owned", ownerReferences: [owner] } });
  await server.call("DELETE", `${crates}/first`);
  await until(async () => (await client.find(ConfigMap, { namespace: "x", name: "owned" })) === undefined);
  await until(async () => (await used())?.["count/crates.cargo.example"] === "0");

  await server.call("POST", crates, { ...named, metadata: { name: "left" } });
  await client.delete(Namespace, { name: "x" });
  await until(async () => (await client.find(Namespace, { name: "x" })) === undefined);
  assert.deepEqual((await server.call("GET", all)).json.items, []);
});
