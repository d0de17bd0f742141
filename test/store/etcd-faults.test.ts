// Three etcd members, two API servers' worth of engines and a constant load, while members die, hang and come back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { retry } from "#base/retry.ts";
import { Unavailable } from "#store/engine.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { type EtcdCluster, noEtcd, startEtcd } from "#store/testing/etcd.ts";
import { Recorder, runClient, watchViolation } from "#store/testing/history.ts";
import { violationIn } from "#store/testing/linearizability.ts";
import { follow } from "#store/testing.ts";

const keys = Array.from({ length: 8 }, (_, i) => `/registry/faults/${i}`);
const value = new TextEncoder().encode("1");
const REQUEST_MS = 4_000;

const open = (cluster: EtcdCluster, seed: number) =>
  new EtcdStore({
    endpoints: cluster.endpoints,
    clock: systemClock,
    random: seededRandom(seed),
    log: silentLog,
    requestMs: REQUEST_MS,
    silenceMs: 800,
  });

/** Looks at a condition until it holds; fails when that takes too long. */
async function eventually(what: string, isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadline, `not within 30 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

type Fault = (cluster: EtcdCluster) => Promise<void>;
interface Phase {
  readonly name: string;
  readonly strike: Fault;
}

/** Each strikes, and the load must go on before the next one does. What was killed or paused is back by then or later. */
const phases: readonly Phase[] = [
  {
    name: "the leader is killed",
    strike: async (cluster) => (await cluster.leader()).kill(),
  },
  {
    name: "it comes back",
    strike: async (cluster) => {
      for (const member of cluster.members) if (!member.isRunning) await member.start();
    },
  },
  {
    name: "the leader hangs",
    strike: async (cluster) => (await cluster.leader()).pause(),
  },
  {
    name: "it goes on as if nothing had been",
    strike: async (cluster) => {
      for (const member of cluster.members) member.resume();
    },
  },
  {
    name: "each member is killed and restarted in turn",
    strike: async (cluster) => {
      for (const member of cluster.members) {
        await member.kill();
        await member.start();
      }
    },
  },
  {
    name: "each member hangs for a while in turn",
    strike: async (cluster) => {
      for (const member of cluster.members) {
        member.pause();
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        member.resume();
      }
    },
  },
];

test("members may die, hang and come back: nothing acknowledged is lost, no watch event missed or repeated", {
  skip: noEtcd,
  timeout: 180_000,
}, async (t) => {
  const cluster = await startEtcd({ members: 3 });
  let passed = false;
  t.after(() => cluster.stop(passed));
  const engines = [open(cluster, 1), open(cluster, 2)];
  t.after(() => Promise.all(engines.map((engine) => engine.close())));

  const start = await engines[0]!.revision();
  const watchers = engines.map((engine) => follow(engine, "/registry/faults/", start));
  const recorder = new Recorder();
  const isDone = { now: false };
  const load = Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      runClient(
        recorder,
        { engine: engines[i % 2]!, name: `c${i}`, keys, random: seededRandom(100 + i) },
        () => !isDone.now,
      ),
    ),
  );
  const acknowledged = () => recorder.operations.filter(({ outcome }) => outcome.is === "written").length;

  await eventually("the load runs", () => acknowledged() > 100);
  for (const { name, strike } of phases) {
    await strike(cluster);
    const before = acknowledged();
    await eventually(`writes go on after: ${name}`, () => acknowledged() > before + 100);
    const seen = watchers.map(({ revision }) => revision);
    await eventually(`watches go on after: ${name}`, () =>
      watchers.every(({ revision }, i) => revision > seen[i]! + 50),
    );
    t.diagnostic(`${name}: ${recorder.operations.length} operations so far`);
  }
  isDone.now = true;
  await load;

  for (const key of keys) for (const engine of engines) await recorder.get(engine, key);
  const newest = await engines[0]!.revision();
  for (const watcher of watchers) {
    await watcher.caughtUpTo(newest);
    await watcher.stop();
    assert.equal(watchViolation(recorder.operations, watcher.changes), undefined);
  }
  assert.equal(violationIn(recorder.operations), undefined);
  const unknown = recorder.operations.filter(({ outcome }) => outcome.is === "unknown");
  t.diagnostic(`${recorder.operations.length} operations, ${unknown.length} of unknown outcome`);
  passed = true;
});

test("without a majority every call fails in time and says why, and all goes on when it is back", {
  skip: noEtcd,
  timeout: 120_000,
}, async (t) => {
  const cluster = await startEtcd({ members: 3 });
  let passed = false;
  t.after(() => cluster.stop(passed));
  const engine = open(cluster, 3);
  t.after(() => engine.close());
  const first = await engine.put("/registry/a", value, 0);
  const watcher = follow(engine, "/registry/", first.modified);
  await watcher.caughtUpTo(first.modified);

  const [one, two] = cluster.members;
  await one!.kill();
  two!.pause();
  const begun = performance.now();
  const results = await Promise.allSettled([
    engine.get("/registry/a"),
    engine.list("/registry/"),
    engine.put("/registry/a", value, first.modified),
    engine.put("/registry/b", value, 0, 60),
    engine.delete("/registry/c", 7),
    engine.revision(),
    engine.compact(first.modified),
    engine.status(),
  ]);
  const took = performance.now() - begun;
  for (const result of results) {
    assert.equal(result.status, "rejected");
    assert.ok(result.reason instanceof Unavailable, String(result.reason));
    for (const endpoint of cluster.endpoints)
      assert.ok(result.reason.message.includes(endpoint), result.reason.message);
  }
  // Twice, because a put with a time to live, or a status, is two requests.
  assert.ok(took < 2 * REQUEST_MS + 2_000, `it took ${took} ms`);

  two!.resume();
  await one!.start();
  const present = await retry(
    (signal) => engine.get("/registry/a", signal),
    { clock: systemClock, firstMs: 50, maxMs: 50, tries: 10 },
    new AbortController().signal,
  );
  const next = await engine.put("/registry/a", value, present!.modified);
  await watcher.caughtUpTo(next.modified);
  await watcher.stop();
  assert.equal(watcher.changes.at(-1)?.entry.modified, next.modified);
  passed = true;
});
