// What a cluster keeps in memory of what it no longer has, and of what it keeps in its store.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Event } from "#api/core/v1/event.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { systemClock } from "#base/clock.ts";
import { inBatches } from "#base/collections.ts";
import { isNotFound } from "#base/errors.ts";
import type { Client } from "#client/client.ts";
import { type MemoryUse, ObservedCluster } from "./observed-memory.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
const kept = ({ heapBytes, externalBytes }: MemoryUse) => heapBytes + externalBytes;
const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const told = (use: MemoryUse) =>
  `heap ${mib(use.heapBytes)}, external ${mib(use.externalBytes)}, resident ${mib(use.residentBytes)}`;

test("30,000 events take at most 2 KiB each in memory beyond their bytes on disk", async (t) => {
  await using cluster = await ObservedCluster.up("--nodes=1");
  const { client } = cluster.connection;
  await writeEvents(client, 1000, "warm-up");
  const before = await cluster.memory();
  const diskBefore = statSync(cluster.storeFile).size;
  await writeEvents(client, 30_000, "counted");
  // Looked at as tools do, by the object that an event is about, which must not bring them all into memory for good.
  for (const pod of ["pod-1", "pod-2"])
    await client.list(Event, { namespace: "default", fieldSelector: `involvedObject.name=${pod}` });
  const after = await cluster.memory();
  const each = (kept(after) - kept(before)) / 30_000;
  const disk = (statSync(cluster.storeFile).size - diskBefore) / 30_000;
  t.diagnostic(`${Math.round(each)} bytes each in memory, ${Math.round(disk)} on disk; ${told(after)}`);
  assert.ok(each <= 2048, `an event takes ${each} bytes`);
});

test("what 100,000 objects took is given back when they are gone", async (t) => {
  await using cluster = await ObservedCluster.up("--nodes=2");
  const { client } = cluster.connection;
  await churn(client, "warm-up"); // code is compiled, and bounded histories are filled
  await quiet();
  const before = await cluster.memory();
  t.diagnostic(`at the start: ${told(before)}`);
  for (const i of numbers(20)) await churn(client, `churn-${i}`);
  await quiet();
  const after = await cluster.memory();
  t.diagnostic(`at the end: ${told(after)}`);
  assert.ok(kept(after) <= kept(before) * 1.3, `${mib(kept(before))} have become ${mib(kept(after))}`);
});

async function writeEvents(client: Client, count: number, reason: string): Promise<void> {
  await inBatches(32, numbers(count), async (i) => {
    await client.create(Event, {
      metadata: { name: `${reason}.${i.toString(16)}`, namespace: "default" },
      involvedObject: { kind: "Pod", namespace: "default", name: `pod-${i}`, apiVersion: "v1" },
      reason: "Tested",
      message: `Something that is worth a sentence happened to pod-${i}, ${reason}`,
      source: { component: "soak" },
      type: "Normal",
    });
  });
}

/** 5,000 objects come, and go with their namespace. */
async function churn(client: Client, namespace: string): Promise<void> {
  await client.create(Namespace, { metadata: { name: namespace } });
  await inBatches(32, numbers(4000), async (i) => {
    await client.create(ConfigMap, { metadata: { name: `config-${i}`, namespace }, data: { text: "x".repeat(500) } });
  });
  await inBatches(32, numbers(900), async (i) => {
    await client.create(Secret, {
      metadata: { name: `secret-${i}`, namespace },
      stringData: { text: "x".repeat(500) },
    });
  });
  await inBatches(32, numbers(100), async (i) => {
    const container = { name: "main", image: "nginx" };
    await client.create(Pod, { metadata: { name: `pod-${i}`, namespace }, spec: { containers: [container] } });
  });
  await client.delete(Namespace, { name: namespace });
  for (;;) {
    try {
      await client.get(Namespace, { name: namespace });
    } catch (error) {
      if (isNotFound(error)) return;
      throw error;
    }
    await systemClock.sleep(200, AbortSignal.timeout(60_000));
  }
}

/** Longer than events are kept for watchers that come back. */
const quiet = () => systemClock.sleep(100_000, AbortSignal.timeout(200_000));
