// Three etcd members with two engines on them, a constant load and a watcher on each, to strike faults into.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { type EtcdCluster, startEtcd } from "#store/testing/etcd.ts";
import { Recorder, runClient, watchViolation } from "#store/testing/history.ts";
import { violationIn } from "#store/testing/linearizability.ts";
import { follow } from "#store/testing.ts";

export const REQUEST_MS = 4_000;
const CLIENTS = 8;
const keys = Array.from({ length: CLIENTS }, (_, i) => `/registry/faults/${i}`);

export interface Load {
  readonly cluster: EtcdCluster;
  /** Does something to the cluster, and waits until writes and watches go on all the same. */
  strike(name: string, fault: (cluster: EtcdCluster) => Promise<void>): Promise<void>;
  /** Ends the load, and judges all that was written, read and watched. */
  finish(): Promise<void>;
}

export const openEtcd = (cluster: EtcdCluster, seed: number): EtcdStore =>
  new EtcdStore({
    endpoints: cluster.endpoints,
    clock: systemClock,
    random: seededRandom(seed),
    log: silentLog,
    requestMs: REQUEST_MS,
    silenceMs: 800,
  });

/** A cluster of three that is gone after the test; its logs are kept unless `passed` was called. */
export async function startThree(t: TestContext): Promise<{ cluster: EtcdCluster; passed(): void }> {
  const cluster = await startEtcd({ members: 3 });
  let isPassed = false;
  t.after(() => cluster.stop(isPassed));
  return {
    cluster,
    passed() {
      isPassed = true;
    },
  };
}

export async function startLoad(t: TestContext, seed: number): Promise<Load> {
  const { cluster, passed } = await startThree(t);
  const engines = [openEtcd(cluster, seed), openEtcd(cluster, seed + 1)];
  t.after(() => Promise.all(engines.map((engine) => engine.close())));
  const start = await engines[0]!.revision();
  const watchers = engines.map((engine) => follow(engine, "/registry/faults/", start));
  const recorder = new Recorder();
  let isDone = false;
  const load = Promise.all(
    Array.from({ length: CLIENTS }, (_, i) => {
      const random = seededRandom(seed * 100 + i);
      return runClient(recorder, { engine: engines[i % 2]!, name: `c${i}`, keys, random }, () => !isDone);
    }),
  );
  t.after(() => {
    isDone = true;
    return load;
  });

  let judged = 0;
  let written = 0;
  const acknowledged = () => {
    for (; judged < recorder.operations.length; judged++)
      if (recorder.operations[judged]!.outcome.is === "written") written++;
    return written;
  };
  const goesOn = async (name: string) => {
    const before = acknowledged();
    await eventually(`writes go on after: ${name}`, () => acknowledged() > before + 100);
    const seen = watchers.map(({ revision }) => revision);
    await eventually(`watches go on after: ${name}`, () =>
      watchers.every((watcher, i) => watcher.revision > seen[i]! + 50),
    );
  };
  await goesOn("the start");

  return {
    cluster,
    async strike(name, fault) {
      await fault(cluster);
      await goesOn(name);
      t.diagnostic(`${name}: ${recorder.operations.length} operations so far`);
    },
    async finish() {
      isDone = true;
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
      passed();
    },
  };
}

/** Looks at a condition until it holds; fails when that takes too long. */
async function eventually(what: string, isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 45_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadline, `not within 45 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
