// The API server against the least a server in this language can do for the same bytes (apiserver/floor.ts), in the same run.
// The floor and the server take turns. Where the goal is a share of the floor, it is one of CPU time: the client and other
// work on the machine take their part of the clock, but not of that. KNARR_BENCH_PART=start|get|list|create|watch|patch|memory|stall|etcd
// measures only that; KNARR_BENCH_NODE="--cpu-prof" adds arguments for the measured server.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";
import { frames, RawHttp2, type RawRequest, requestFields } from "#wire/testing/raw-http2.ts";
import { Clients, type Load } from "./apiserver/load.ts";
import { type Keys, type Measured, makeBundle, makeKeys, startFloor, startKnarr } from "./apiserver/servers.ts";
import { median, type Report } from "./figure.ts";
import { pod } from "./schema.ts";

const pods = "/api/v1/namespaces/bench/pods";
const connections = 4;
const streams = 16;

interface Bench {
  readonly bundle: string;
  readonly keys: Keys;
  folder(): string;
  readonly report: Report;
}

export async function run(report: Report): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "knarr-bench-"));
  const bundle = makeBundle();
  let next = 0;
  const folder = () => {
    const path = join(root, `${next++}`);
    mkdirSync(path);
    return path;
  };
  const parts: Record<string, (bench: Bench) => Promise<void>> = {
    start,
    get: (bench) => requests(bench, contests.get),
    list: (bench) => requests(bench, contests.list),
    create: (bench) => requests(bench, contests.create),
    watch,
    patch,
    memory,
    stall,
    etcd,
  };
  const only = process.env.KNARR_BENCH_PART;
  try {
    const bench = { bundle, folder, report, keys: await makeKeys(folder()) };
    for (const [name, part] of Object.entries(parts)) if (!only || only === name) await part(bench);
    report({ name: "load of the machine at the end, for reference", value: loadavg()[0] ?? 0, unit: "" });
  } finally {
    rmSync(root, { recursive: true, force: true });
    rmSync(dirname(bundle), { recursive: true, force: true });
  }
}

const embedded = ({ bundle, keys, folder }: Bench, isProbed = true): Promise<Measured> =>
  startKnarr(bundle, keys, [`--data-dir=${folder()}`], isProbed);

async function start(bench: Bench): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const server = await embedded(bench, false);
    times.push(server.startMs);
    await server.stop();
  }
  bench.report({ name: "start to ready, empty store", value: median(times), unit: "ms", goal: { atMost: 600 } });
}

const get = (path: string): RawRequest => ({ method: "GET", path });
const create = (i: number): RawRequest => ({
  method: "POST",
  path: pods,
  headers: { "content-type": "application/json" },
  body: Buffer.from(JSON.stringify(pod(`bench-${i}`))),
});

/** The same where no watcher looks. */
const unwatched = (i: number): RawRequest => ({
  ...create(i),
  path: "/api/v1/namespaces/quiet/pods",
  body: Buffer.from(JSON.stringify({ ...pod(`bench-${i}`), metadata: { name: `bench-${i}` } })),
});

/** Pods numbered `from` to `to`. */
async function fill(server: Measured, from: number, to: number): Promise<void> {
  const clients = await Clients.connect(server, connections);
  await ensureNamespaces(server);
  await clients.run({ streams, count: to - from, request: (i) => create(from + i) });
  clients.close();
}

async function ensureNamespaces(server: Measured): Promise<void> {
  const raw = await RawHttp2.connect(server);
  for (const name of ["bench", "quiet"])
    await raw.fetch({
      method: "POST",
      path: "/api/v1/namespaces",
      body: Buffer.from(JSON.stringify({ metadata: { name } })),
    });
  raw.close();
}

async function fetchText(server: Measured, path: string): Promise<string> {
  const raw = await RawHttp2.connect(server);
  const text = (await raw.fetch(get(path))).toString();
  raw.close();
  if (/"kind":"Status"/.test(text.slice(0, 300))) throw new Error(`GET ${path}: ${text}`);
  return text;
}

const sizeOf = async (server: Measured, path: string): Promise<number> => (await fetchText(server, path)).length;

interface Contest {
  readonly name: string;
  readonly unit: "requests" | "bytes";
  readonly goal: number;
  readonly rounds: number;
  readonly load: Omit<Load, "request">;
  readonly ours: Load["request"];
  readonly floor: Load["request"];
}

/** Rounds in turn; of each, what a unit cost the server in CPU time, and how many there were in a second of the clock. */
async function contest({ report }: Bench, floor: Measured, ours: Measured, what: Contest): Promise<void> {
  const contenders = { floor, ours };
  const results = { floor: [] as { cpu: number; rate: number }[], ours: [] as { cpu: number; rate: number }[] };
  const clients = {
    floor: await Clients.connect(floor, connections),
    ours: await Clients.connect(ours, connections),
  };
  let done = { floor: 0, ours: 0 };
  for (let round = -1; round < what.rounds; round++)
    for (const name of ["floor", "ours"] as const) {
      await contenders[name].usage();
      const base = done[name];
      const { ms, bytes } = await clients[name].run({ ...what.load, request: (i) => what[name](base + i) });
      done = { ...done, [name]: base + what.load.count };
      const { cpuMs } = await contenders[name].usage();
      const amount = what.unit === "bytes" ? bytes / 1e6 : what.load.count;
      if (round >= 0) results[name].push({ cpu: (cpuMs * 1000) / amount, rate: (amount * 1000) / ms });
    }
  clients.floor.close();
  clients.ours.close();
  const middle = (name: "floor" | "ours", field: "cpu" | "rate") => median(results[name].map((one) => one[field]));
  const unit = what.unit === "bytes" ? "MB" : "request";
  report({ name: `${what.name}: rate`, value: middle("ours", "rate"), unit: `${unit}/s` });
  report({ name: `${what.name}: rate of the floor`, value: middle("floor", "rate"), unit: `${unit}/s` });
  report({
    name: `${what.name}: share of the floor by the clock`,
    value: middle("ours", "rate") / middle("floor", "rate"),
    unit: "×",
  });
  report({ name: `${what.name}: CPU`, value: middle("ours", "cpu"), unit: `µs/${unit}` });
  report({ name: `${what.name}: CPU of the floor`, value: middle("floor", "cpu"), unit: `µs/${unit}` });
  const share = middle("floor", "cpu") / middle("ours", "cpu");
  report({ name: `${what.name}: share of the floor by CPU`, value: share, unit: "×", goal: { atLeast: what.goal } });
}

const contests = {
  get: {
    name: "get",
    unit: "requests",
    goal: 0.6,
    rounds: 7,
    load: { streams, count: 8_000 },
    ours: (i) => get(`${pods}/bench-${i % 50}`),
    floor: () => get("/object"),
  },
  list: {
    name: "list of 5,000 pods",
    unit: "bytes",
    goal: 0.6,
    rounds: 7,
    load: { streams: 1, count: 8 },
    ours: () => get(pods),
    floor: () => get("/list"),
  },
  create: {
    name: "create pod",
    unit: "requests",
    goal: 0.35,
    rounds: 5,
    load: { streams, count: 2_000 },
    ours: (i) => create(10_000 + i),
    floor: create,
  },
} satisfies Record<string, Contest>;

async function requests(bench: Bench, what: Contest): Promise<void> {
  const ours = await embedded(bench);
  await fill(ours, 0, 5_000);
  const [object, list] = [await sizeOf(ours, `${pods}/bench-7`), await sizeOf(ours, pods)];
  const floor = await startFloor(bench.keys, bench.folder(), { object, list });
  await contest(bench, floor, ours, what);
  await Promise.all([ours.stop(), floor.stop()]);
}

/**
 * Every watcher gets every write: 200 × 500 events a round. What the writes themselves cost is measured beside it, by as many that
 * nobody watches, and does not count.
 */
async function watch(bench: Bench): Promise<void> {
  const [watchers, writes, rounds] = [200, 500, 5];
  const ours = await embedded(bench);
  await fill(ours, 100_000, 104_000); // until the compiler has settled
  const object = (await sizeOf(ours, `${pods}/bench-100000`)) + 28; // of a watch event around it
  const floor = await startFloor(bench.keys, bench.folder(), { object, list: 1 });
  const contenders = { floor, ours };
  const warm = await Clients.connect(floor, connections);
  await warm.run({ streams, count: 4_000, request: create });
  warm.close();
  const { metadata } = JSON.parse(await fetchText(ours, `${pods}?limit=1`));
  const paths = { floor: "/watch", ours: `${pods}?watch=1&resourceVersion=${metadata.resourceVersion}` };
  const audience = {
    floor: await Audience.of(floor, watchers, paths.floor),
    ours: await Audience.of(ours, watchers, paths.ours),
  };
  const clients = { floor: await Clients.connect(floor, 1), ours: await Clients.connect(ours, 1) };
  const results = { floor: [] as { cpu: number; rate: number }[], ours: [] as { cpu: number; rate: number }[] };
  for (let round = 0; round <= rounds; round++)
    for (const name of ["floor", "ours"] as const) {
      await contenders[name].usage();
      audience[name].forget();
      const begun = performance.now();
      const all = audience[name].bytesReached(writes * watchers * (object - 64));
      await clients[name].run({ streams: 32, count: writes, request: (i) => create(1_000 + round * writes + i) });
      await all;
      const ms = performance.now() - begun;
      const { cpuMs } = await contenders[name].usage();
      await clients[name].run({ streams: 32, count: writes, request: (i) => unwatched(round * writes + i) });
      const alone = await contenders[name].usage();
      const deliveries = writes * watchers;
      if (round > 0)
        results[name].push({ cpu: ((cpuMs - alone.cpuMs) * 1000) / deliveries, rate: (deliveries * 1000) / ms });
    }
  for (const name of ["floor", "ours"] as const) {
    audience[name].close();
    clients[name].close();
  }
  await Promise.all([ours.stop(), floor.stop()]);
  const middle = (name: "floor" | "ours", field: "cpu" | "rate") => median(results[name].map((one) => one[field]));
  const { report } = bench;
  report({ name: "watch by 200: deliveries", value: middle("ours", "rate"), unit: "1/s" });
  report({ name: "watch by 200: deliveries of the floor", value: middle("floor", "rate"), unit: "1/s" });
  report({
    name: "watch by 200: share of the floor by the clock",
    value: middle("ours", "rate") / middle("floor", "rate"),
    unit: "×",
  });
  report({ name: "watch by 200: CPU", value: middle("ours", "cpu"), unit: "µs/delivery" });
  report({ name: "watch by 200: CPU of the floor", value: middle("floor", "cpu"), unit: "µs/delivery" });
  report({
    name: "watch by 200: share of the floor by CPU",
    value: middle("floor", "cpu") / middle("ours", "cpu"),
    unit: "×",
    goal: { atLeast: 0.6 },
  });
}

/** Streams that stay open, spread over a few connections. */
class Audience {
  readonly #connections: readonly RawHttp2[];
  #bytes = 0;
  #wanted = Number.POSITIVE_INFINITY;
  #reached: () => void = () => undefined;

  private constructor(connections: readonly RawHttp2[]) {
    this.#connections = connections;
    for (const connection of connections)
      connection.onFrame = ({ type, payload }) => {
        if (type !== frames.data) return;
        this.#bytes += payload.length;
        if (this.#bytes >= this.#wanted) this.#reached();
      };
  }

  static async of(target: Measured, count: number, path: string): Promise<Audience> {
    const connected = await Promise.all(Array.from({ length: connections }, () => RawHttp2.connect(target)));
    const audience = new Audience(connected);
    const head = requestFields(get(path));
    for (let i = 0; i < count; i++)
      connected[i % connections]?.request(head, undefined, () => {
        throw new Error("a watch ended");
      });
    return audience;
  }

  forget(): void {
    this.#bytes = 0;
  }

  bytesReached(bytes: number): Promise<void> {
    if (this.#bytes >= bytes) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wanted = bytes;
      this.#reached = resolve;
    });
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

/** Sixteen clients that change one pod. Upstream with etcd makes 65 a second of it. */
async function patch(bench: Bench): Promise<void> {
  const server = await embedded(bench);
  await patchOne(bench.report, server, "merge-patch of one pod by 16 clients", 1_300);
  await server.stop();
}

async function patchOne(report: Report, server: Measured, name: string, goal?: number): Promise<void> {
  await fill(server, 0, 8);
  const clients = await Clients.connect(server, 16);
  const request = (i: number): RawRequest => ({
    method: "PATCH",
    path: `${pods}/bench-1`,
    headers: { "content-type": "application/merge-patch+json" },
    body: Buffer.from(JSON.stringify({ metadata: { annotations: { n: `${i}` } } })),
  });
  const rates: number[] = [];
  const costs: number[] = [];
  for (let round = -1; round < 5; round++) {
    await server.usage();
    const { ms } = await clients.run({ streams: 1, count: 1_000, request: (i) => request(round * 1_000 + i) });
    const { cpuMs } = await server.usage();
    if (round < 0) continue;
    rates.push(1_000_000 / ms);
    costs.push(cpuMs);
  }
  clients.close();
  report({ name: `${name}: CPU`, value: median(costs), unit: "µs/request" });
  report({ name, value: median(rates), unit: "1/s", ...(goal !== undefined && { goal: { atLeast: goal } }) });
}

/** The collector gives memory back when a process has been quiet for some seconds. */
const restMs = 20_000;

async function memory(bench: Bench): Promise<void> {
  const folder = bench.folder();
  const store = [`--data-dir=${folder}`];
  const server = await startKnarr(bench.bundle, bench.keys, store, false);
  await sizeOf(server, "/readyz");
  await pause(restMs);
  const { report } = bench;
  report({ name: "memory when idle", value: server.rssMib(), unit: "MiB", goal: { atMost: 110 } });
  await fill(server, 0, 10_000);
  report({ name: "memory right after 10,000 pods were made", value: server.rssMib(), unit: "MiB" });
  await pause(restMs);
  report({ name: "memory with 10,000 pods", value: server.rssMib(), unit: "MiB", goal: { atMost: 260 } });
  await server.stop();
  const again = await startKnarr(bench.bundle, bench.keys, store, false);
  report({ name: "start to ready with 10,000 pods", value: again.startMs, unit: "ms" });
  await pause(restMs);
  report({ name: "memory after a restart with 10,000 pods", value: again.rssMib(), unit: "MiB" });
  await again.stop();
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function stall(bench: Bench): Promise<void> {
  const server = await embedded(bench);
  await fill(server, 0, 10_000);
  const clients = await Clients.connect(server, 20);
  await clients.run({ streams: 1, count: 20, request: () => get(pods) });
  const [wall, own]: [number[], number[]] = [[], []];
  for (let round = 0; round < 5; round++) {
    await server.usage("stalls");
    await clients.run({ streams: 1, count: 40, request: () => get(pods) });
    const { clockMs, ownMs } = await server.usage();
    wall.push(clockMs);
    own.push(ownMs);
  }
  clients.close();
  await server.stop();
  const { report } = bench;
  report({ name: "longest stall, 10,000 pods to 20 clients: by the clock", value: median(wall), unit: "ms" });
  report({
    name: "longest stall, 10,000 pods to 20 clients: own work",
    value: median(own),
    unit: "ms",
    goal: { atMost: 25 },
  });
}

/** The same server on a real etcd, for comparison. */
async function etcd(bench: Bench): Promise<void> {
  if (noEtcd) return console.error(`bench: etcd is left out, ${noEtcd}`);
  const cluster = await startEtcd();
  const { report } = bench;
  try {
    const server = await startKnarr(bench.bundle, bench.keys, [`--etcd-servers=${cluster.endpoints.join(",")}`]);
    report({ name: "on etcd: start to ready", value: server.startMs, unit: "ms" });
    await ensureNamespaces(server);
    const clients = await Clients.connect(server, connections);
    const created = await clients.run({ streams, count: 5_000, request: create });
    report({ name: "on etcd: create pod", value: 5_000_000 / created.ms, unit: "1/s" });
    const got = await clients.run({ streams, count: 10_000, request: (i) => get(`${pods}/bench-${i % 50}`) });
    report({ name: "on etcd: get", value: 10_000_000 / got.ms, unit: "1/s" });
    const listed = await clients.run({ streams: 1, count: 8, request: () => get(pods) });
    report({ name: "on etcd: list of 5,000 pods", value: listed.bytes / 1000 / listed.ms, unit: "MB/s" });
    clients.close();
    await patchOne(report, server, "on etcd: merge-patch of one pod by 16 clients");
    await server.stop();
  } finally {
    await cluster.stop();
  }
}
