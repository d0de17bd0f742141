// Quotas as they are charged by the server and put right by the controller, which may write nothing but their status.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { turn } from "#base/breathe.ts";
import { ManualClock } from "#base/clock.ts";
import { isReason } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import type { Entry } from "#store/engine.ts";
import { MemoryStore } from "#store/memory.ts";
import { ResourceQuotaController } from "../../src/controllers/resourcequota/controller.ts";
import { discovery, type TestCluster, testCluster } from "./cluster.ts";

const namespace = "team";

/** Takes its time to store a pod, so that it is charged for long before it is there. */
class SlowStore extends MemoryStore {
  override async put(...[key, ...others]: Parameters<MemoryStore["put"]>): Promise<Entry> {
    if (key.includes("/pods/")) for (let i = 0; i < 40; i++) await turn();
    return super.put(key, ...others);
  }
}

async function cluster() {
  const c = await testCluster({
    controllers: [],
    components: ({ clientFor, informers, server: { clock } }) => [
      new ResourceQuotaController({ client: clientFor("quota"), informers, discovery, clock, log: silentLog }),
    ],
    serviceAccounts: { quota: "resourcequota-controller" },
    server: {
      admission: admissionOf({ disable: ["ServiceAccount"] }),
      store: new SlowStore({ clock: new ManualClock(0) }),
    },
  });
  await c.client.create(Namespace, { metadata: { name: namespace } });
  return c;
}
const addQuota = ({ client }: TestCluster, hard: Record<string, string>) =>
  client.create(ResourceQuota, { metadata: { namespace, name: "q" }, spec: { hard } });
const used = async ({ client }: TestCluster) =>
  (await client.get(ResourceQuota, { namespace, name: "q" })).status.used ?? {};
const addPod = ({ client }: TestCluster, name: string) =>
  client.create(Pod, {
    metadata: { namespace, name },
    spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "c", image: "i" }] },
  });

test("what is there is counted when a quota comes, and again when its limits change", async () => {
  await using c = await cluster();
  await addPod(c, "a");
  await c.client.create(ConfigMap, { metadata: { namespace, name: "m" } });
  await addQuota(c, { pods: "3" });
  await c.until(async () => (await used(c)).pods === "1");
  await c.client.patch(ResourceQuota, { namespace, name: "q" }, "merge", {
    spec: { hard: { "count/configmaps": "5" } },
  });
  await c.until(async () => (await used(c))["count/configmaps"] === "1");
  assert.deepEqual(await used(c), { pods: "1", "count/configmaps": "1" });
});

test("what is deleted, and what ends, is given back soon", async () => {
  await using c = await cluster();
  await addQuota(c, { pods: "2" });
  await c.until(async () => (await used(c)).pods === "0");
  const a = await addPod(c, "a");
  await addPod(c, "b");
  await assert.rejects(addPod(c, "c"), (error) => isReason(error, "Forbidden"));
  await c.client.delete(Pod, a.metadata, { graceSeconds: 0 });
  await c.until(async () => (await used(c)).pods === "1", 30);
  const b = await c.client.get(Pod, { namespace, name: "b" });
  await c.client.update(Pod, { ...b, status: { ...b.status, phase: "Succeeded" } }, "status");
  await c.until(async () => (await used(c)).pods === "0", 30);
});

test("a usage that is wrong for whatever reason is right within five minutes", async () => {
  await using c = await cluster();
  const quota = await addQuota(c, { pods: "2" });
  await c.until(async () => (await used(c)).pods === "0");
  const now = await c.client.get(ResourceQuota, quota.metadata);
  await c.client.update(ResourceQuota, { ...now, status: { ...now.status, used: { pods: "2" } } }, "status");
  await c.server.clock.advance(200_000);
  assert.equal((await used(c)).pods, "2");
  await c.until(async () => (await used(c)).pods === "0", 1200);
});

test("however creators and deletions mix with counting, there is never more than the quota allows", async () => {
  await using c = await cluster();
  const most = 10;
  await addQuota(c, { pods: String(most) });
  await c.until(async () => (await used(c)).pods === "0");
  const alive = async () => (await c.client.list(Pod, { namespace })).items;
  let made = 0;
  for (let round = 0; round < 25; round++) {
    const creating = Array.from({ length: 8 }, (_, i) =>
      addPod(c, `p${round}-${i}`).then(
        () => made++,
        (error) => assert.ok(isReason(error, "Forbidden"), String(error)),
      ),
    );
    const victims = (await alive()).slice(0, 5);
    const deleting = victims.map(({ metadata }) => c.client.delete(Pod, metadata, { graceSeconds: 0 }));
    await Promise.all([...creating, ...deleting, c.server.clock.advance(500)]);
    const there = (await alive()).length;
    assert.ok(there <= most, `${there} pods in round ${round}`);
  }
  assert.ok(made >= 50, `${made} made`);
  await c.until(async () => Number((await used(c)).pods) === (await alive()).length);
});
