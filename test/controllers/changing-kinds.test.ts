import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { silentLog } from "#base/log.ts";
import type { Transport } from "#client/client.ts";
import type { Informers } from "#client/informers.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { GarbageCollector } from "../../src/controllers/garbage/collector.ts";
import { namespaceController } from "../../src/controllers/namespace.ts";
import { ResourceQuotaController } from "../../src/controllers/resourcequota/controller.ts";
import { ChangingKinds } from "./changing-kinds.ts";
import { type TestCluster, type TestClusterOptions, testCluster } from "./cluster.ts";

const namespace = "default";
const reference = ({ apiVersion, kind, metadata }: ApiObject) => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
});
const ghost = { apiVersion: "v1", kind: "ConfigMap", name: "ghost", uid: "00000000-0000-4000-8000-000000000000" };

/** A cluster with a garbage collector. */
const collected = (kinds: ChangingKinds, around: (next: Transport) => Transport = (next) => next) =>
  testCluster({
    controllers: [],
    transport: (server) => around(kinds.transport(server)),
    components: ({ client, informers, server: { clock } }) => [
      new GarbageCollector({ client, informers, discovery: kinds, clock, log: silentLog }),
    ],
  });
const add = ({ client }: TestCluster, kind: typeof ConfigMap | typeof Secret, name: string, ...owners: object[]) =>
  client.create(kind, { metadata: { namespace, name, ownerReferences: owners as [] } });
const isGone = async ({ client }: TestCluster, kind: AnyKind, name: string) =>
  (await client.find(kind, { namespace, name })) === undefined;

test("a kind that can never be listed does not keep the garbage of other kinds", async () => {
  const kinds = new ChangingKinds([ConfigMap, Secret]);
  kinds.broken.add(Secret);
  await using c = await collected(kinds);
  const owner = await add(c, ConfigMap, "owner");
  await add(c, ConfigMap, "lost", ghost);
  await add(c, ConfigMap, "kept", reference(owner));
  await c.until(() => isGone(c, ConfigMap, "lost"), 400);
  await c.client.delete(ConfigMap, { namespace, name: "owner" });
  await c.until(() => isGone(c, ConfigMap, "kept"));
});

test("what belongs to a kind that has gone stays, and is collected when the kind is back without the owner", async () => {
  const kinds = new ChangingKinds([ConfigMap, Secret]);
  await using c = await collected(kinds);
  const [left, stays] = [await add(c, ConfigMap, "left"), await add(c, ConfigMap, "stays")];
  await add(c, Secret, "of-left", reference(left));
  await add(c, Secret, "of-stays", reference(stays));
  await c.server.clock.advance(1000);
  kinds.remove(ConfigMap);
  await c.server.clock.advance(120_000);
  assert.equal(await isGone(c, Secret, "of-left"), false);
  await c.client.delete(ConfigMap, { namespace, name: "left" });
  await c.server.clock.advance(120_000);
  assert.equal(await isGone(c, Secret, "of-left"), false);
  kinds.serve(ConfigMap);
  await c.until(() => isGone(c, Secret, "of-left"), 20);
  assert.equal(await isGone(c, Secret, "of-stays"), false);
  await c.client.delete(ConfigMap, { namespace, name: "stays" });
  await c.until(() => isGone(c, Secret, "of-stays"));
});

test("an owner that was seen to go is gone, also when its kind goes before its dependents were looked at", async () => {
  const kinds = new ChangingKinds([ConfigMap, Secret]);
  const held = Promise.withResolvers<void>();
  let waiting = 0;
  await using c = await collected(kinds, (next) => async (request) => {
    if (request.verb === "get" && request.resource === "secrets") {
      waiting++;
      await held.promise;
    }
    return next(request);
  });
  const owner = await add(c, ConfigMap, "owner");
  await add(c, Secret, "dependent", reference(owner));
  await c.server.clock.advance(1000);
  await c.client.delete(ConfigMap, { namespace, name: "owner" });
  await c.until(async () => waiting > 0);
  kinds.remove(ConfigMap);
  await c.server.clock.advance(60_000);
  held.resolve();
  await c.until(() => isGone(c, Secret, "dependent"), 20);
});

test("an owner that is deleted in the foreground does not wait for dependents of a kind that has gone", async () => {
  const kinds = new ChangingKinds([ConfigMap, Secret]);
  await using c = await collected(kinds);
  const owner = await add(c, ConfigMap, "owner");
  const ownerReferences = [{ ...reference(owner), blockOwnerDeletion: true }];
  const finalizers = ["example.com/hold"];
  await c.client.create(Secret, { metadata: { namespace, name: "blocks", ownerReferences, finalizers } });
  await c.server.clock.advance(1000);
  await c.client.delete(ConfigMap, { namespace, name: "owner" }, { propagation: "Foreground" });
  await c.server.clock.advance(120_000);
  assert.equal(await isGone(c, ConfigMap, "owner"), false);
  kinds.remove(Secret);
  await c.until(() => isGone(c, ConfigMap, "owner"), 350);
});

test("a kind that comes later is collected as soon as it is told, or at the next look", async () => {
  for (const isTold of [true, false]) {
    const kinds = new ChangingKinds([Secret]);
    if (!isTold) kinds.onChange = () => () => undefined;
    await using c = await collected(kinds);
    await add(c, ConfigMap, "new", { ...ghost, kind: "Secret" });
    await add(c, Secret, "waits", ghost);
    await c.server.clock.advance(120_000);
    assert.equal(await isGone(c, ConfigMap, "new"), false);
    assert.equal(await isGone(c, Secret, "waits"), false, "its owner's kind is not known");
    kinds.serve(ConfigMap);
    const areGone = async () => (await isGone(c, ConfigMap, "new")) && (await isGone(c, Secret, "waits"));
    await c.until(areGone, isTold ? 20 : 320);
  }
});

test("a kind whose group cannot be told of at the moment is not taken for gone", async () => {
  const kinds = new ChangingKinds([ConfigMap, Secret]);
  await using c = await collected(kinds);
  const owner = await add(c, ConfigMap, "owner");
  await add(c, Secret, "dependent", reference(owner));
  await c.server.clock.advance(1000);
  kinds.failures.set("v1", new Error("no answer"));
  const { discover } = kinds;
  kinds.discover = async () => ({ kinds: [Namespace], failures: (await discover.call(kinds)).failures });
  const { asked } = kinds;
  await c.server.clock.advance(120_000);
  assert.ok(kinds.asked > asked, "it has looked again");
  await c.client.delete(ConfigMap, { namespace, name: "owner" });
  await c.until(() => isGone(c, Secret, "dependent"), 20);
});

const quotaCluster = async (kinds: ChangingKinds) => {
  let shared: Informers | undefined;
  const c = await testCluster({
    controllers: [],
    transport: kinds.transport,
    components: ({ client, informers, server: { clock } }) => {
      shared = informers;
      return [new ResourceQuotaController({ client, informers, discovery: kinds, clock, log: silentLog })];
    },
  });
  return { c, informers: shared ?? assert.fail("no informers") };
};
const used = async ({ client }: TestCluster) =>
  (await client.get(ResourceQuota, { namespace, name: "q" })).status.used ?? {};

test("a kind that cannot be listed, or is gone, does not keep a quota from counting the others", async () => {
  const kinds = new ChangingKinds([Pod, ConfigMap, Secret, ResourceQuota]);
  kinds.broken.add(ConfigMap);
  const { c, informers } = await quotaCluster(kinds);
  await using _ = c;
  const names = Array.from({ length: 7 }, (_, i) => `q${i}`); // more than there are workers
  for (const name of [...names, "q"])
    await c.client.create(ResourceQuota, {
      metadata: { namespace, name },
      spec: { hard: { "count/configmaps": "5", "count/secrets": "5" } },
    });
  await add(c, ConfigMap, "m");
  await add(c, Secret, "s");
  await c.until(async () => (await used(c))["count/secrets"] === "1", 1000);
  assert.deepEqual(await used(c), { "count/secrets": "1" });
  kinds.broken.delete(ConfigMap);
  await c.until(async () => (await used(c))["count/configmaps"] === "1", 2000);

  kinds.remove(ConfigMap);
  const informer = informers.of(ConfigMap);
  await c.server.clock.advance(60_000);
  assert.ok(informer.isDropped);
  await c.client.delete(ConfigMap, { namespace, name: "m" });
  await c.client.delete(Secret, { namespace, name: "s" });
  await c.until(async () => (await used(c))["count/secrets"] === "0");
  assert.deepEqual(await used(c), { "count/configmaps": "1", "count/secrets": "0" });
  kinds.serve(ConfigMap);
  await c.until(async () => (await used(c))["count/configmaps"] === "0", 50);
});

const conditions = async ({ client }: TestCluster, name: string) =>
  ((await client.get(Namespace, { name })).status.conditions ?? [])
    .filter(({ status }) => status === "True")
    .map(({ type, message }) => `${type}: ${message}`);
const emptying = (kinds: ChangingKinds): TestClusterOptions => ({
  controllers: [namespaceController(kinds)],
  transport: kinds.transport,
});

test("a namespace is emptied of all but what cannot be found out or listed, and says so", async () => {
  const kinds = new ChangingKinds([ServiceAccount, ConfigMap, Secret, Namespace]);
  kinds.failures.set("metrics.example.com/v1", new Error("stale GroupVersion discovery: metrics.example.com/v1"));
  kinds.broken.add(ConfigMap);
  await using c = await testCluster(emptying(kinds));
  const name = "blue";
  await c.client.create(Namespace, { metadata: { name } });
  await c.client.create(ConfigMap, { metadata: { namespace: name, name: "a" } });
  await c.client.create(Secret, { metadata: { namespace: name, name: "b" } });
  await c.client.delete(Namespace, { name });
  await c.until(async () => (await c.client.list(Secret, { namespace: name })).items.length === 0);
  await c.until(async () => (await conditions(c, name)).length > 0);
  assert.deepEqual(await conditions(c, name), [
    "NamespaceDeletionDiscoveryFailure: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: metrics.example.com/v1: stale GroupVersion discovery: metrics.example.com/v1",
    "NamespaceDeletionContentFailure: Failed to delete all resource types, 1 remaining: injected",
  ]);
  kinds.broken.clear();
  await c.until(async () => (await c.client.list(ConfigMap, { namespace: name })).items.length === 0, 1000);
  assert.ok(await c.client.find(Namespace, { name }), "nobody knows what else is in it");
  kinds.failures.clear();
  await c.until(async () => (await c.client.find(Namespace, { name })) === undefined, 3000);
});

test("a kind that went after it was told of does not keep a namespace", async () => {
  const kinds = new ChangingKinds([Secret, Namespace]);
  const { discover } = kinds;
  kinds.discover = async () => ({ ...(await discover.call(kinds)), kinds: [ConfigMap, Secret, Namespace] });
  await using c = await testCluster(emptying(kinds));
  await c.client.create(Namespace, { metadata: { name: "blue" } });
  await c.client.create(Secret, { metadata: { namespace: "blue", name: "b" } });
  await c.client.delete(Namespace, { name: "blue" });
  await c.until(async () => (await c.client.find(Namespace, { name: "blue" })) === undefined);
});
