// The service proxy with 10,000 services, against the kernel, in a network namespace of its own without any way out.
import { execFileSync } from "node:child_process";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { runProgram } from "#base/host/run-program.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { conntrack } from "#proxy/host/conntrack.ts";
import { chooseMode } from "#proxy/modes/list.ts";
import { ServiceProxy } from "#proxy/proxy.ts";
import type { RunOnNode } from "#proxy/proxy-mode.ts";
import { inLanes, type Report } from "./figure.ts";

const services = 10_000;
const changes = 200;
const additions = 20;
const namespace = "default";

export async function run(report: Report): Promise<void> {
  if (process.getuid?.() !== 0) return console.error("bench: proxy is left out, only root may make network namespaces");
  const netns = `knarr-bench-${process.pid}`;
  execFileSync("ip", ["netns", "add", netns]);
  try {
    await measure("nftables", netns, report);
    await measure("iptables", netns, report);
  } finally {
    execFileSync("ip", ["netns", "del", netns]);
  }
}

/** A change may take the kernel so long, and the first sync. */
const goals = { nftables: { change: 50, first: 15 }, iptables: { change: 400, first: 60 } };

async function measure(modeName: keyof typeof goals, netns: string, report: Report): Promise<void> {
  await using server = await testServer();
  const { signal } = new AbortController();
  const client = new Client({ transport: server.server.request, user: testUser, userAgent: "bench/1", signal });
  await inLanes(services, (i) => makeService(client, i));

  const run: RunOnNode = (command, options) => runProgram(["ip", "netns", "exec", netns, ...command], options);
  const families = ["IPv4"] as const;
  /** Figures of the mode that is the default have had these names from the beginning. */
  const prefix = modeName === "nftables" ? "" : `${modeName}, `;
  const { mode } = chooseMode(modeName, { run, families, podRanges: ["10.244.0.0/16"] });
  let applied = Promise.withResolvers<void>();
  const parts = { client, clock: server.clock, random: seededRandom(1), log: silentLog };
  const informers = new Informers(parts);
  const proxy = new ServiceProxy({
    ...parts,
    informers,
    mode: {
      ...mode,
      async rewrite(changed, stopped) {
        await mode.rewrite(changed, stopped);
        applied.resolve();
      },
      async change(changed, stopped) {
        await mode.change(changed, stopped);
        applied.resolve();
      },
    },
    connections: conntrack(run),
    node: "n1",
    families,
  });
  const stop = new AbortController();
  const begun = performance.now();
  const running = Promise.allSettled([informers.run(stop.signal), proxy.run(stop.signal)]);
  await applied.promise;
  report({
    name: `${prefix}10,000 services: first sync`,
    value: (performance.now() - begun) / 1000,
    unit: "s",
    goal: { atMost: goals[modeName].first },
  });

  const times: number[] = [];
  for (let i = 0; i < changes; i++) {
    applied = Promise.withResolvers<void>();
    const asked = performance.now();
    const name = `web-${(i * 37) % services}`;
    await client.patch(EndpointSlice, { namespace, name }, "merge", { endpoints: endpointsOf(i + 7, 1 + (i % 4)) });
    await applied.promise;
    times.push(performance.now() - asked);
  }
  const added: number[] = [];
  for (let i = 0; i < additions; i++) {
    applied = Promise.withResolvers<void>();
    const asked = performance.now();
    await client.create(Service, { metadata: { name: `more-${i}`, namespace }, spec: { ports: [{ port: 80 }] } });
    await applied.promise;
    added.push(performance.now() - asked);
  }
  stop.abort(new Error("over"));
  await running;
  await mode.cleanup(signal);
  added.sort((a, b) => a - b);
  times.sort((a, b) => a - b);
  report({ name: `${prefix}one endpoint change among 10,000 services: median`, value: at(times, 0.5), unit: "ms" });
  report({
    name: `${prefix}one endpoint change among 10,000 services: 99 %`,
    value: at(times, 0.99),
    unit: "ms",
    goal: { atMost: goals[modeName].change },
  });
  report({ name: `${prefix}one service more among 10,000: median`, value: at(added, 0.5), unit: "ms" });
}

const at = (sorted: readonly number[], part: number): number => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;

const endpointsOf = (seed: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    addresses: [`10.244.${(seed >> 6) & 255}.${(seed * 4 + i) & 255}`],
    nodeName: "n1",
  }));

async function makeService(client: Client, i: number): Promise<void> {
  const name = `web-${i}`;
  await client.create(Service, { metadata: { name, namespace }, spec: { ports: [{ name: "http", port: 80 }] } });
  await client.create(EndpointSlice, {
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: endpointsOf(i, 2),
    ports: [{ name: "http", port: 8080 }],
  });
}
