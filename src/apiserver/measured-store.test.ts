import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ManualClock } from "#base/clock.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { engineSuite } from "#store/engine.suite.ts";
import { Conflict, type StoreEngine, Unavailable } from "#store/engine.ts";
import { MemoryStore } from "#store/memory.ts";
import { storeMeter } from "./measured-store.ts";

engineSuite("measured memory", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const engine = storeMeter(new MetricRegistry(), clock)(new MemoryStore({ clock }), Deployment);
  return { engine, pass: (seconds) => clock.advance(seconds * 1000), exactTime: true };
});

const value = new Uint8Array(1);

async function linesAfter(
  work: (store: StoreEngine, clock: ManualClock) => Promise<void>,
  more: Partial<StoreEngine> = {},
) {
  const [clock, registry] = [new ManualClock(), new MetricRegistry()];
  const store = Object.assign(new MemoryStore({ clock }), more);
  await work(storeMeter(registry, clock)(store, Deployment), clock);
  const lines = (await registry.text()).split("\n");
  return lines.filter((line) => /^etcd_.*(_total|_sum|_count)\{/.test(line));
}
const labels = (operation: string) => `{group="apps",operation="${operation}",resource="deployments"}`;

test("requests to the store are counted by what they do", async () => {
  const lines = await linesAfter(async (store) => {
    const { modified } = await store.put("/registry/apps/deployments/a/b", value, 0);
    const updated = await store.put("/registry/apps/deployments/a/b", value, modified);
    await store.get("/registry/apps/deployments/a/b");
    await store.list("/registry/apps/deployments/");
    await store.delete("/registry/apps/deployments/a/b", updated.modified);
  });
  const operations = ["create", "delete", "get", "list", "update"];
  assert.deepEqual(
    lines.filter((line) => line.startsWith("etcd_requests_total")),
    operations.map((operation) => `etcd_requests_total${labels(operation)} 1`),
  );
  assert.deepEqual(
    lines.filter((line) => line.startsWith("etcd_request_errors")),
    [],
  );
});

test("a conflict is an answer, and a store that is not there an error", async () => {
  const gone: Partial<StoreEngine> = { delete: () => Promise.reject(new Unavailable("it is not there")) };
  const lines = await linesAfter(async (store) => {
    await store.put("/a", value, 0);
    await assert.rejects(store.put("/a", value, 0), Conflict);
    await assert.rejects(store.delete("/a", 2), Unavailable);
  }, gone);
  assert.ok(lines.includes(`etcd_requests_total${labels("create")} 2`));
  assert.ok(lines.includes(`etcd_request_errors_total${labels("delete")} 1`));
  assert.equal(lines.filter((line) => line.startsWith("etcd_request_errors")).length, 1);
});

test("a write that has begun takes until it is durable", async () => {
  const { promise: durable, resolve: flushed } = Promise.withResolvers<void>();
  const entry = { key: "/a", value, created: 7, modified: 7 };
  const lines = await linesAfter(
    async (store, clock) => {
      assert.deepEqual(store.begin?.("/a", value, 6)?.entry, entry);
      await clock.advance(2_000);
      flushed();
      await durable;
    },
    { begin: () => ({ entry, durable }) },
  );
  assert.ok(lines.includes(`etcd_request_duration_seconds_sum${labels("update")} 2`));
});
