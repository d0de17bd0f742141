// Durable puts through the same interface: the embedded store against a real etcd on the same disk, taking turns.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import type { StoreEngine } from "#store/engine.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";
import type { Report } from "./figure.ts";

const ROUNDS = 5;
const ROUND_MS = 1_500;
const VALUE_BYTES = 1_000;

export async function run(report: Report): Promise<void> {
  if (noEtcd) {
    console.error(`bench: left out, ${noEtcd}`);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "knarr-bench-"));
  const cluster = await startEtcd();
  const engines = {
    embedded: await openLmdbStore({ folder, clock: systemClock }),
    etcd: new EtcdStore({ endpoints: cluster.endpoints, clock: systemClock, random: systemRandom, log: silentLog }),
  };
  try {
    for (const writers of [1, 256]) {
      const rates: Record<keyof typeof engines, number[]> = { embedded: [], etcd: [] };
      for (let round = 0; round <= ROUNDS; round++)
        for (const name of ["embedded", "etcd"] as const) {
          const rate = await putsPerSecond(engines[name], writers);
          if (round > 0) rates[name].push(rate); // the first round is for the compiler
        }
      const what = `put of ${VALUE_BYTES} bytes, ${writers} writers`;
      report({ name: `${what}: embedded`, value: middle(rates.embedded), unit: "1/s" });
      report({ name: `${what}: etcd`, value: middle(rates.etcd), unit: "1/s" });
      const ratios = rates.embedded.map((rate, i) => rate / (rates.etcd[i] as number));
      const goal = writers === 256 ? { goal: { atLeast: 5 } } : {};
      report({ name: `${what}: embedded to etcd`, value: middle(ratios), unit: "x", ...goal });
    }
  } finally {
    await Promise.all(Object.values(engines).map((engine) => engine.close()));
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** So many writers, each overwriting a key of its own; a put counts when it is durable. */
async function putsPerSecond(engine: StoreEngine, writers: number): Promise<number> {
  const start = performance.now();
  let count = 0;
  await Promise.all(
    Array.from({ length: writers }, async (_, id) => {
      const key = `/registry/pods/namespace-${id % 50}/pod-${id}`;
      let modified = (await engine.get(key))?.modified ?? 0;
      while (performance.now() - start < ROUND_MS) {
        ({ modified } = await engine.put(key, Buffer.alloc(VALUE_BYTES, count), modified));
        count++;
      }
    }),
  );
  return count / ((performance.now() - start) / 1000);
}

const middle = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] as number;
