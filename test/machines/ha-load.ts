// Clients of several API servers, as a program: they write through whichever server answers, follow each server with an informer, and update a
// few objects with preconditions through all servers at once. A line for each fifth of a second says how many writes were acknowledged.
// "stop" on the standard input ends it; then it looks whether all of that fits together, and says so in its last line.
// Arguments: a kubeconfig, and the servers.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { systemClock } from "#base/clock.ts";
import { isConflict, isReason } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom, systemRandom } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import { connectClient } from "#client/host/connect.ts";
import { Informers } from "#client/informers.ts";
import { type HistoryOperation, type HistoryOutcome, type Seen, violationIn } from "#store/testing/linearizability.ts";

const [kubeconfig = "", ...servers] = process.argv.slice(2);
const namespace = "default";
const writers = 3;
const keys = ["k0", "k1", "k2"];
const patienceMs = 2_000;
const over = new AbortController();
const parts = { clock: systemClock, random: systemRandom, log: silentLog };

async function connected(server: string, i: number): Promise<Client> {
  const config = JSON.parse(readFileSync(kubeconfig, "utf8"));
  config.clusters[0].cluster.server = server;
  const explicit = join(mkdtempSync(join(tmpdir(), "load-")), `${i}`);
  writeFileSync(explicit, JSON.stringify(config));
  const { client } = await connectClient({
    explicit,
    env: {},
    userAgent: "load/1",
    clock: systemClock,
    signal: over.signal,
  });
  return client;
}

/** A connection that was cut is noticed late, so nobody waits for long. */
const soon = (client: Client) =>
  client.bound({ signal: AbortSignal.any([over.signal, AbortSignal.timeout(patienceMs)]) });

const clients = await Promise.all(servers.map(connected));
let isOver = false;

const acknowledged: string[] = [];
async function write(writer: number): Promise<void> {
  for (let i = 0; !isOver; i++) {
    const name = `w${writer}-${i}`;
    for (let at = writer + i; ; at++) {
      try {
        await soon(clients[at % clients.length] as Client).create(ConfigMap, { metadata: { namespace, name } });
        break;
      } catch (error) {
        if (isReason(error, "AlreadyExists")) break; // it was written, and the answer was lost
        await pause(50);
      }
    }
    acknowledged.push(name);
    await pause(20);
  }
}

const history: HistoryOperation[] = [];
const refused = new Set<string>();
const created = new Map<string, number>();
let events = 0;
const seen = (object: ConfigMap): Seen => ({
  value: object.data?.value ?? "",
  created: created.get(object.metadata.name) ?? 0,
  modified: Number(object.metadata.resourceVersion),
});

async function record(
  operation: Pick<HistoryOperation, "kind" | "key" | "value" | "expected">,
  run: () => Promise<HistoryOutcome>,
): Promise<HistoryOutcome> {
  const called = ++events;
  const outcome = await run().catch((error: unknown): HistoryOutcome => {
    if (isConflict(error)) refused.add(operation.value ?? "");
    return { is: "unknown" };
  });
  history.push({ ...operation, called, returned: ++events, outcome });
  return outcome;
}

const put = (client: Client, key: string, value: string, expected: number) =>
  record({ kind: "put", key, value, expected }, async () => {
    const metadata = { namespace, name: key, resourceVersion: String(expected) };
    const kind = { apiVersion: ConfigMap.apiVersion, kind: ConfigMap.kind };
    const { modified } = seen(
      await soon(client).update(ConfigMap, { ...kind, metadata, data: { value } } as unknown as ConfigMap),
    );
    return { is: "written", revision: modified, created: created.get(key) ?? 0 };
  });

const get = (client: Client, key: string) =>
  record({ kind: "get", key }, async () => ({
    is: "found",
    present: seen(await soon(client).get(ConfigMap, { namespace, name: key })),
  }));

async function updates(client: Client, name: string, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const known = new Map(created);
  for (let i = 0; !isOver; i++) {
    const key = keys[random.below(keys.length)] ?? "";
    const outcome =
      random.next() < 0.5 ? await put(client, key, `${name}.${i}`, known.get(key) ?? 0) : await get(client, key);
    if (outcome.is === "written") known.set(key, outcome.revision);
    else if (outcome.is === "found") known.set(key, outcome.present?.modified ?? 0);
    else await pause(100);
    await pause(50);
  }
}

for (const name of keys) {
  const called = ++events;
  const object = await clients[0]?.create(ConfigMap, { metadata: { namespace, name }, data: { value: "first" } });
  const revision = Number(object?.metadata.resourceVersion);
  created.set(name, revision);
  const outcome = { is: "written", revision, created: revision } as const;
  history.push({ kind: "put", key: name, value: "first", expected: 0, called, returned: ++events, outcome });
}
const caches = clients.map((client) => {
  const informers = new Informers({ ...parts, client });
  const { cache } = informers.of(ConfigMap);
  informers.run(over.signal).catch(() => undefined); // it ends with the program
  return cache;
});
const working = [
  ...Array.from({ length: writers }, (_, i) => write(i)),
  ...clients.flatMap((client, i) => [updates(client, `a${i}`, i), updates(client, `b${i}`, i + 10)]),
];

for await (const line of stdinOrTicks()) {
  if (line === "stop") break;
  console.log(JSON.stringify({ acknowledged: acknowledged.length }));
}
isOver = true;
await Promise.all(working);

const lists = await Promise.all(clients.map((client) => client.list(ConfigMap, { namespace })));
const lines = (all: readonly ConfigMap[]) =>
  all
    .filter(({ metadata }) => metadata.namespace === namespace)
    .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
    .toSorted()
    .join("\n");
const wanted = lines(lists[0]?.items ?? []);
const end = performance.now() + 60_000;
while (performance.now() < end && caches.some((cache) => lines(cache.list()) !== wanted)) await pause(100);
const present = new Set(lists[0]?.items.map(({ metadata }) => metadata.name));
const read = history.flatMap(({ outcome }) => (outcome.is === "found" ? (outcome.present?.value ?? []) : []));
console.log(
  JSON.stringify({
    acknowledged: acknowledged.length,
    twice: acknowledged.length - new Set(acknowledged).size,
    lost: acknowledged.filter((name) => !present.has(name)),
    differingServers: lists.filter(({ items }) => lines(items) !== wanted).length,
    differingInformers: caches.filter((cache) => lines(cache.list()) !== wanted).length,
    operations: history.length,
    refusedButSeen: read.filter((value) => refused.has(value)),
    violation: violationIn(history) ?? "none",
  }),
);
process.exit(0);

async function* stdinOrTicks(): AsyncGenerator<string> {
  let isAsked = false;
  const input = createInterface({ input: process.stdin });
  input.on("line", () => {
    isAsked = true;
  });
  input.on("close", () => isAsked || process.exit(1)); // whoever started it has ended
  while (!isAsked) {
    yield "tick";
    await pause(200);
  }
  yield "stop";
}
