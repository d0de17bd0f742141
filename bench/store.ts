// The embedded store against raw LMDB with awaited flush and against a real etcd, in the same run and on the same disk.
// KNARR_BENCH_PART=puts|etcd|stall|scan|watchers|open|size measures only that.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "lmdb";
import { ManualClock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import type { StoreEngine } from "#store/engine.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";
import { follow } from "#store/testing.ts";
import { median, type Report } from "./figure.ts";
import { probeLoop, type Stall } from "./stall.ts";

const KEYS = 5_000;
const WAVES_MS = 3_000;
const keyOf = (i: number) => `/registry/pods/namespace-${i % 50}/pod-${i}`;

export async function run(report: Report): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "knarr-bench-"));
  let next = 0;
  const folder = () => join(root, `${next++}`);
  const parts: Record<string, () => Promise<void>> = {
    puts: () => puts(folder, report),
    etcd: () => putsToEtcd(folder, report),
    stall: () => stall(folder(), report),
    scan: () => scan(folder(), report),
    watchers: () => watchers(folder(), report),
    open: () => openTime(folder(), report),
    size: () => fileSize(folder(), report),
  };
  const only = process.env.KNARR_BENCH_PART;
  try {
    for (const [name, part] of Object.entries(parts)) if (!only || name === only) await part();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

interface Load {
  readonly writers: number;
  readonly bytes: number;
}

/** Something that writes durably: returns when the write is on disk. */
export interface Writer {
  put(key: number, value: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

function rawWriter(folder: string): Writer {
  const db = open<Uint8Array, string>({ path: join(folder, "raw.lmdb"), noSubdir: true, encoding: "binary" });
  return {
    async put(key, value) {
      void db.put(keyOf(key), value);
      await db.flushed;
    },
    close: () => db.close(),
  };
}

/** Any engine: the place to compare another one with. Every key has one writer, who knows its revision. */
export function engineWriter(engine: StoreEngine): Writer {
  const modified = new Map<number, number>();
  return {
    async put(key, value) {
      const entry = await engine.put(keyOf(key), value, modified.get(key) ?? 0);
      modified.set(key, entry.modified);
    },
    close: () => engine.close(),
  };
}

/** Writes per second of so many writers, each with its own keys. */
export async function rate(writer: Writer, writers: number, bytes: number, ms: number): Promise<number> {
  const start = performance.now();
  let count = 0;
  const isOver = () => performance.now() - start >= ms;
  const one = async (id: number) => {
    for (let key = id; !isOver(); key = (key + writers * 7) % KEYS) {
      if (key % writers !== id) key += id - (key % writers);
      await writer.put(key, Buffer.alloc(bytes, count++));
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, id) => one(id)));
  return count / ((performance.now() - start) / 1000);
}

const loads = [1_000, 5_000].flatMap((bytes) => [1, 32, 256].map((writers) => ({ bytes, writers })));
const nameOf = ({ bytes, writers }: Load): string => `put ${bytes / 1000} KB, ${writers} writers`;

async function puts(folder: () => string, report: Report): Promise<void> {
  for (const load of loads) {
    const raw = rawWriter(folder());
    const ours = engineWriter(await openLmdbStore({ folder: folder(), clock: systemClock }));
    const name = nameOf(load);
    await compareWriters({ ours, raw }, load, (rates) => {
      report({ name: `${name}: embedded`, value: rates.ours, unit: "1/s" });
      report({ name: `${name}: raw LMDB`, value: rates.raw, unit: "1/s" });
      report({ name: `${name}: ratio`, value: rates.ours / rates.raw, unit: "×", goal: { atLeast: 0.7 } });
    });
  }
}

/** Each load has an etcd of its own, as empty as the embedded store beside it. */
async function putsToEtcd(folder: () => string, report: Report): Promise<void> {
  if (noEtcd) return console.error(`bench: etcd is left out, ${noEtcd}`);
  for (const load of loads) {
    const cluster = await startEtcd();
    try {
      const embedded = engineWriter(await openLmdbStore({ folder: folder(), clock: systemClock }));
      const { endpoints } = cluster;
      const store = new EtcdStore({ endpoints, clock: systemClock, random: systemRandom, log: silentLog });
      const name = `${nameOf(load)}, against etcd`;
      const goal = load.writers === 256 && { goal: { atLeast: 5 } };
      await compareWriters({ embedded, etcd: engineWriter(store) }, load, (rates) => {
        report({ name: `${name}: embedded`, value: rates.embedded, unit: "1/s" });
        report({ name: `${name}: etcd`, value: rates.etcd, unit: "1/s" });
        report({ name: `${name}: ratio`, value: rates.embedded / rates.etcd, unit: "×", ...goal });
      });
    } finally {
      await cluster.stop();
    }
  }
}

/** Short waves of writes that take turns, so that a busy moment of the machine falls on all; the middle wave counts. */
export async function compareWriters<N extends string>(
  contenders: Readonly<Record<N, Writer>>,
  load: Load,
  report: (ratesPerSecond: Record<N, number>) => void,
): Promise<void> {
  const each = load.writers === 1 ? 4 : 8;
  const names = Object.keys(contenders) as N[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<N, number[]>;
  for (const name of names) await rate(contenders[name], load.writers, load.bytes, 300);
  const start = performance.now();
  for (let wave = 0; performance.now() - start < WAVES_MS; wave++)
    for (const name of names) {
      const begun = performance.now();
      const one = async (id: number) => {
        for (let i = 0; i < each; i++)
          await contenders[name].put(((wave * each + i) * load.writers + id) % KEYS, Buffer.alloc(load.bytes, i));
      };
      await Promise.all(Array.from({ length: load.writers }, (_, id) => one(id)));
      times[name].push(performance.now() - begun);
    }
  for (const name of names) await contenders[name].close();
  report(
    Object.fromEntries(names.map((name) => [name, (each * load.writers * 1000) / median(times[name])])) as Record<
      N,
      number
    >,
  );
}

async function stall(folder: string, report: Report): Promise<void> {
  const store = await openLmdbStore({ folder, clock: systemClock, keepMs: 500, keepRevisions: 5_000 });
  const writer = engineWriter(store);
  await rate(writer, 256, 1_000, 500);
  const rounds: Stall[] = [];
  for (let round = 0; round < 5; round++) {
    const probe = probeLoop();
    await Promise.all([rate(writer, 256, 1_000, 2_000), store.list("/")]);
    rounds.push(probe.stop());
  }
  await store.close();
  const name = "longest stall under full load";
  report({ name: `${name}: by the clock`, value: median(rounds.map(({ clockMs }) => clockMs)), unit: "ms" });
  report({
    name: `${name}: by the clock, without waiting for a core`,
    value: median(rounds.map(({ ownMs }) => ownMs)),
    unit: "ms",
    goal: { atMost: 15 },
  });
}

async function scan(folder: string, report: Report): Promise<void> {
  const store = await openLmdbStore({ folder, clock: systemClock });
  await fill(store, 10_000, 2_000);
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    const { entries } = await store.list("/");
    if (entries.length !== 10_000) throw new Error(`${entries.length} entries`);
    times.push(performance.now() - start);
  }
  await store.close();
  report({ name: "scan of 10,000 entries of 2 KB", value: median(times), unit: "ms", goal: { atMost: 250 } });
}

async function watchers(folder: string, report: Report): Promise<void> {
  const store = await openLmdbStore({ folder, clock: systemClock });
  const from = await store.revision();
  const all = Array.from({ length: 1_000 }, () => follow(store, "/registry/", from));
  for (const watcher of all) await watcher.caughtUpTo(from);
  const start = performance.now();
  await fill(store, 500, 1_000);
  const newest = await store.revision();
  for (const watcher of all) await watcher.caughtUpTo(newest);
  const seconds = (performance.now() - start) / 1000;
  const deliveries = all.reduce((sum, { changes }) => sum + changes.length, 0);
  for (const watcher of all) await watcher.stop();
  await store.close();
  report({ name: "1,000 watchers: deliveries", value: deliveries / seconds, unit: "1/s", goal: { atLeast: 200_000 } });
}

async function openTime(folder: string, report: Report): Promise<void> {
  const filled = await openLmdbStore({ folder, clock: systemClock });
  await fill(filled, 150_000, 4_000);
  await filled.close();
  const start = performance.now();
  const store = await openLmdbStore({ folder, clock: systemClock });
  const ms = performance.now() - start;
  const list = performance.now();
  const { entries } = await store.list("/registry/pods/namespace-1/");
  report({ name: "open with 150,000 entries of 4 KB", value: ms, unit: "ms", goal: { atMost: 3_000 } });
  report({ name: `first list of ${entries.length} of them`, value: performance.now() - list, unit: "ms" });
  await store.close();
}

/** A million overwrites of 2,000 keys, spread over ten hours of the store's clock, so that history ages as it would. */
async function fileSize(folder: string, report: Report): Promise<void> {
  const clock = new ManualClock();
  const store = await openLmdbStore({ folder, clock });
  const modified = new Map<number, number>();
  const total = 1_000_000;
  const bytes = 1_000;
  let count = 0;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: 200 }, async (_, id) => {
      while (count < total) {
        const key = id * 10 + (count++ % 10);
        modified.set(key, (await store.put(keyOf(key), Buffer.alloc(bytes, count), modified.get(key) ?? 0)).modified);
        if (count % 500 === 0) await clock.advance(18_000);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await store.close();
  const { size } = statSync(join(folder, "store.lmdb"));
  report({ name: "a million overwrites of 2,000 keys", value: total / seconds, unit: "1/s" });
  const live = Array.from({ length: 2_000 }, (_, key) => keyOf(key).length + bytes).reduce((sum, n) => sum + n);
  report({ name: "file size to live data", value: size / live, unit: "×", goal: { atMost: 10 } });
}

async function fill(store: StoreEngine, count: number, bytes: number): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: 256 }, async () => {
      for (let i = next++; i < count; i = next++) await store.put(keyOf(i), Buffer.alloc(bytes, i), 0);
    }),
  );
}
