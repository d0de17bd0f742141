// Members of an etcd cluster die, hang and come back under load.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { retry } from "#base/retry.ts";
import { Unavailable } from "#store/engine.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { noEtcd } from "#store/testing/etcd.ts";
import { follow } from "#store/testing.ts";
import { openEtcd, pause, REQUEST_MS, startLoad, startThree } from "./etcd-load.ts";

const value = new TextEncoder().encode("1");

/** Reads until the cluster answers again. */
const isBack = (engine: EtcdStore) =>
  retry(
    (signal) => engine.get("/registry/a", signal),
    { clock: systemClock, firstMs: 50, maxMs: 50, tries: 10 },
    new AbortController().signal,
  );

test("members may die, hang and come back: nothing acknowledged is lost, no watch event missed or repeated", {
  skip: noEtcd,
}, async (t) => {
  const { strike, finish } = await startLoad(t, 1);
  await strike("the leader is killed", async (cluster) => (await cluster.leader()).kill());
  await strike("it comes back", async ({ members }) => {
    for (const member of members) if (!member.isRunning) await member.start();
  });
  await strike("the leader hangs", async (cluster) => (await cluster.leader()).pause());
  await strike("it goes on as if nothing had been", async ({ members }) => {
    for (const member of members) member.resume();
  });
  await strike("each member is killed and restarted in turn", async ({ members }) => {
    for (const member of members) {
      await member.kill();
      await member.start();
    }
  });
  await strike("each member hangs for a while in turn", async ({ members }) => {
    for (const member of members) {
      await member.pause();
      await pause(1_500);
      member.resume();
    }
  });
  await strike("the majority is gone for a while", async ({ members }) => {
    for (const member of members.slice(1)) await member.pause();
    await pause(3_000);
    for (const member of members.slice(1)) member.resume();
  });
  await strike("all members are killed and restarted", async ({ members }) => {
    await Promise.all(members.map((member) => member.kill()));
    await Promise.all(members.map((member) => member.start()));
  });
  await finish();
});

test("without a majority every call fails in time and says why, and all goes on when it is back", {
  skip: noEtcd,
}, async (t) => {
  const { cluster, passed } = await startThree(t);
  const engine = openEtcd(cluster, 3);
  t.after(() => engine.close());
  const first = await engine.put("/registry/a", value, 0);
  const watcher = follow(engine, "/registry/", first.modified);
  await watcher.caughtUpTo(first.modified);

  const [one, two] = cluster.members;
  await one!.kill();
  await two!.pause();
  const begun = performance.now();
  const results = await Promise.allSettled([
    engine.get("/registry/a"),
    engine.list("/registry/"),
    engine.put("/registry/a", value, first.modified),
    engine.put("/registry/b", value, 0, { ttlSeconds: 60 }),
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
  assert.ok(took < 3 * REQUEST_MS, `it took ${took} ms`);

  two!.resume();
  await one!.start();
  const present = await isBack(engine);
  const next = await engine.put("/registry/a", value, present!.modified);
  await watcher.caughtUpTo(next.modified);
  await watcher.stop();
  assert.equal(watcher.changes.at(-1)?.entry.modified, next.modified);
  passed();
});

test("a watch on a member that has lost its cluster does not wait there in silence", {
  skip: noEtcd,
}, async (t) => {
  const { cluster, passed } = await startThree(t);
  const [alone, ...others] = cluster.members;
  const interrupted = Promise.withResolvers<string>();
  const log = createLog({ clock: systemClock, write: (line) => interrupted.resolve(line) });
  const endpoints = [alone!.endpoint];
  const engine = new EtcdStore({ endpoints, clock: systemClock, random: systemRandom, log });
  t.after(() => engine.close());
  const first = await engine.put("/registry/a", value, 0);
  const watcher = follow(engine, "/registry/", first.modified);
  await watcher.caughtUpTo(first.modified);

  for (const member of others) await member.pause();
  assert.match(await interrupted.promise, /etcd watch interrupted.*etcdserver: no leader/);
  for (const member of others) member.resume();
  await isBack(engine);
  const next = await engine.put("/registry/b", value, 0);
  await watcher.caughtUpTo(next.modified);
  await watcher.stop();
  assert.deepEqual(
    watcher.changes.map(({ entry }) => entry.modified),
    [next.modified],
  );
  passed();
});
