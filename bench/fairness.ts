// One client floods the server with lists on 500 connections. What do others notice? The same requests are measured on the same server
// before and during the flood: a get of another user of the same priority level, the lease of a node, and a get of someone exempt.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import { Certificates } from "#cluster/certificates.ts";
import { RawHttp2, type RawRequest } from "#wire/testing/raw-http2.ts";
import { Clients } from "./apiserver/load.ts";
import { type Keys, type Measured, makeBundle, makeKeys, startKnarr } from "./apiserver/servers.ts";
import { stageCost } from "./fairness/stage-cost.ts";
import { median, type Report } from "./figure.ts";
import { pod } from "./schema.ts";

const pods = "/api/v1/namespaces/default/pods";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const connections = 500;
const objects = 1000;
const samples = 200;
const pauseMs = 5;
const mostTimes = 5;

export async function run(report: Report): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "knarr-bench-"));
  const bundle = makeBundle();
  try {
    const folder = join(root, "keys");
    mkdirSync(folder);
    const keys = await makeKeys(folder);
    const certificates = new Certificates(folder, systemClock);
    certificates.issue("flood", { commonName: "flood" });
    certificates.issue("quiet", { commonName: "quiet" });
    certificates.issue("node", { commonName: "system:node:n1", organizations: ["system:nodes"] });
    const { fair, counted } = await stageCost();
    report({ name: "a get from memory, without HTTP, with fairness", value: fair, unit: "µs" });
    report({ name: "a get from memory, without HTTP, without fairness", value: counted, unit: "µs" });
    await contest({ bundle, keys, folder: join(root, "fair"), report, isFair: true });
    await contest({ bundle, keys, folder: join(root, "counted"), report, isFair: false });
    report({ name: "load of the machine at the end, for reference", value: loadavg()[0] ?? 0, unit: "" });
  } finally {
    rmSync(root, { recursive: true, force: true });
    rmSync(dirname(bundle), { recursive: true, force: true });
  }
}

interface Contest {
  readonly bundle: string;
  readonly keys: Keys;
  readonly folder: string;
  readonly report: Report;
  readonly isFair: boolean;
}

async function contest({ bundle, keys, folder, report, isFair }: Contest): Promise<void> {
  const flags = ["--authorization-mode=AlwaysAllow", `--enable-priority-and-fairness=${isFair}`];
  const server = await startKnarr(bundle, keys, [`--data-dir=${folder}`, ...flags]);
  let flood: ChildProcess | undefined;
  try {
    await fill(server);
    const people = await probes(server, keys);
    for (const { connection } of Object.values(people)) connection.socket.setMaxListeners(0); // one for each answer
    await measure(people); // until the compiler has settled
    const before = await measure(people);
    flood = fork(fileURLToPath(new URL("fairness/flood.ts", import.meta.url)), [
      ...[String(server.port), keys.folder, String(connections), pods],
    ]);
    await once(flood, "message");
    await server.usage("stalls");
    const during = await measure(people);
    const { ownMs, usualOwnMs } = await server.usage();
    const counted = once(flood, "message");
    flood.send("stop");
    const [{ lists, rejections }] = (await counted) as [{ lists: number; rejections: number }];
    const prefix = isFair ? "" : "without fairness, for reference: ";
    for (const name of Object.keys(before) as (keyof typeof before)[]) {
      const [quiet, busy] = [percentile(before[name], 0.99), percentile(during[name], 0.99)];
      report({ name: `${prefix}${name}: p99 when it is quiet`, value: quiet, unit: "ms" });
      report({ name: `${prefix}${name}: p99 during the flood`, value: busy, unit: "ms" });
      report({ name: `${prefix}${name}: median during the flood`, value: median(during[name]), unit: "ms" });
      report({
        name: `${prefix}${name}: p99 during the flood, times quiet`,
        value: busy / quiet,
        unit: "×",
        ...(isFair && { goal: { atMost: mostTimes } }),
      });
    }
    report({ name: `${prefix}lists that the flood got`, value: lists, unit: "" });
    report({ name: `${prefix}rejections that it got`, value: rejections, unit: "" });
    report({ name: `${prefix}longest turn of the event loop`, value: ownMs, unit: "ms" });
    report({ name: `${prefix}turns of the event loop, 99 of 100 shorter than`, value: usualOwnMs, unit: "ms" });
    for (const { connection } of Object.values(people)) connection.close();
  } finally {
    if (flood?.exitCode === null) flood.kill();
    await server.stop();
  }
}

async function fill(server: Measured): Promise<void> {
  const clients = await Clients.connect(server, 4);
  const create = (i: number): RawRequest => ({
    method: "POST",
    path: pods,
    headers: { "content-type": "application/json" },
    body: Buffer.from(JSON.stringify({ ...pod(""), metadata: { name: `flooded-${i}` } })),
  });
  await clients.run({ streams: 16, count: objects, request: create });
  const lease = { metadata: { name: "n1" }, spec: { holderIdentity: "n1", leaseDurationSeconds: 40 } };
  const body = Buffer.from(JSON.stringify(lease));
  await clients.run({ streams: 1, count: 1, request: () => ({ method: "POST", path: leases, body }) });
  clients.close();
}

interface Probe {
  readonly connection: RawHttp2;
  readonly request: (i: number) => RawRequest;
}

type Subject = "get of another user" | "lease of a node" | "get of someone exempt";

async function probes(server: Measured, keys: Keys): Promise<Readonly<Record<Subject, Probe>>> {
  const as = (name: string) =>
    RawHttp2.connect({
      port: server.port,
      cert: readFileSync(join(keys.folder, `${name}.crt`), "utf8"),
      key: readFileSync(join(keys.folder, `${name}.key`), "utf8"),
    });
  const get = (): RawRequest => ({ method: "GET", path: `${pods}/flooded-7` });
  const renew = (i: number): RawRequest => ({
    method: "PATCH",
    path: `${leases}/n1`,
    headers: { "content-type": "application/merge-patch+json" },
    body: Buffer.from(
      JSON.stringify({ spec: { renewTime: new Date(Date.UTC(2026, 0, 1) + i).toISOString().replace("Z", "000Z") } }),
    ),
  });
  return {
    "get of another user": { connection: await as("quiet"), request: get },
    "lease of a node": { connection: await as("node"), request: renew },
    "get of someone exempt": { connection: await as("client"), request: get },
  };
}

/** Milliseconds that each answer took; all take turns. */
async function measure(people: Readonly<Record<Subject, Probe>>): Promise<Record<Subject, number[]>> {
  const times: Record<Subject, number[]> = {
    "get of another user": [],
    "lease of a node": [],
    "get of someone exempt": [],
  };
  for (let i = 0; i < samples; i++)
    for (const [name, { connection, request }] of Object.entries(people) as [Subject, Probe][]) {
      const start = performance.now();
      const answer = (await connection.fetch(request(i))).toString();
      times[name].push(performance.now() - start);
      if (/"kind":"Status"|Too many/.test(answer.slice(0, 300))) throw new Error(`${name}: ${answer}`);
      await systemClock.sleep(pauseMs, new AbortController().signal);
    }
  return times;
}

const percentile = (numbers: readonly number[], part: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * part)] ?? Number.NaN;
