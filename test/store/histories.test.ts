// Random concurrent clients on every engine: what they saw must have an order in which a simple store would have answered so.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ManualClock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom, systemRandom } from "#base/random.ts";
import type { StoreEngine } from "#store/engine.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { MemoryStore } from "#store/memory.ts";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";
import { Recorder, runClient, watchViolation } from "#store/testing/history.ts";
import { violationIn } from "#store/testing/linearizability.ts";
import { type Follower, follow } from "#store/testing.ts";

const keys = ["/a", "/b", "/c", "/d"];

interface Engines {
  /** Engines on one and the same store. */
  readonly engines: readonly StoreEngine[];
  /** Closes the engines and opens them again on what they kept. */
  reopen?(): Promise<readonly StoreEngine[]>;
}

interface Subject {
  readonly skip?: string | false;
  readonly operations: number;
  open(t: TestContext): Promise<Engines>;
}

const subjects: Readonly<Record<string, Subject>> = {
  memory: {
    operations: 4_000,
    async open(t) {
      const engine = new MemoryStore({ clock: new ManualClock() });
      t.after(() => engine.close());
      return { engines: [engine] };
    },
  },
  embedded: {
    operations: 4_000,
    async open(t) {
      const folder = mkdtempSync(join(tmpdir(), "knarr-store-"));
      let engine = await openLmdbStore({ folder, clock: systemClock });
      t.after(async () => {
        await engine.close();
        rmSync(folder, { recursive: true, force: true });
      });
      return {
        engines: [engine],
        async reopen() {
          await engine.close();
          engine = await openLmdbStore({ folder, clock: systemClock });
          return [engine];
        },
      };
    },
  },
  "etcd with one member": { skip: noEtcd, operations: 2_000, open: (t) => openEtcd(t, 1) },
  "etcd with three members": { skip: noEtcd, operations: 2_000, open: (t) => openEtcd(t, 3) },
};

async function openEtcd(t: TestContext, members: 1 | 3): Promise<Engines> {
  const cluster = await startEtcd({ members });
  t.after(() => cluster.stop());
  const open = () =>
    [1, 2, 3].map(() => {
      const { endpoints } = cluster;
      const engine = new EtcdStore({ endpoints, clock: systemClock, random: systemRandom, log: silentLog });
      t.after(() => engine.close());
      return engine;
    });
  const engines = open();
  return {
    engines,
    async reopen() {
      await Promise.all(engines.map((engine) => engine.close()));
      return open();
    },
  };
}

/** Twelve clients spread over the engines, with a watcher on each, until so many operations are done. */
async function run(
  engines: readonly StoreEngine[],
  recorder: Recorder,
  round: number,
  operations: number,
): Promise<void> {
  let left = operations;
  await Promise.all(
    Array.from({ length: 12 }, (_, i) => {
      const engine = engines[i % engines.length]!;
      const random = seededRandom(round * 100 + i);
      return runClient(recorder, { engine, name: `r${round}c${i}`, keys, random }, () => left-- > 0);
    }),
  );
}

for (const [name, { skip = false, operations, open }] of Object.entries(subjects))
  test(`histories of random clients are linearizable on ${name}`, { skip }, async (t) => {
    const recorder = new Recorder();
    const subject = await open(t);
    let { engines } = subject;
    const start = await engines[0]!.revision();
    const watchers: Follower[] = engines.map((engine) => follow(engine, "/", start));
    await run(engines, recorder, 1, operations / 2);
    if (subject.reopen) {
      engines = await subject.reopen();
      // These see it all once more from the past, and then as it happens.
      watchers.splice(0, watchers.length, ...engines.map((engine) => follow(engine, "/", start)));
    }
    await run(engines, recorder, 2, operations / 2);
    for (const key of keys) for (const engine of engines) await recorder.get(engine, key);
    const newest = await engines[0]!.revision();
    for (const watcher of watchers) {
      await watcher.caughtUpTo(newest);
      await watcher.stop();
      assert.equal(watchViolation(recorder.operations, watcher.changes), undefined);
    }
    assert.equal(violationIn(recorder.operations), undefined);
    const unknown = recorder.operations.filter(({ outcome }) => outcome.is === "unknown");
    assert.deepEqual(unknown, []);
  });
