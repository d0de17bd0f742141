// Network policies against the kernel: 1,000 policies and 5,000 pods, in a network namespace of its own without any way out.
import { execFileSync } from "node:child_process";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { NetworkPolicy } from "#api/networking/v1/network-policy.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { runProgram } from "#base/host/run-program.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { PolicyEnforcer, type RunInNetwork } from "#network/policy/enforcer.ts";
import type { Draft } from "#schema/infer.ts";
import { inLanes, type Report } from "./figure.ts";

const namespaces = 50;
const policies = 1_000;
const pods = 5_000;
const apps = 10;
const changes = 100;

export async function run(report: Report): Promise<void> {
  if (process.getuid?.() !== 0)
    return console.error("bench: network-policy is left out, only root may make network namespaces");
  // As many pods as a node usually has, and all of them on one, which is the worst there can be.
  for (const local of [250, pods]) {
    const netns = `knarr-bench-${process.pid}-${local}`;
    execFileSync("ip", ["netns", "add", netns]);
    try {
      await measure(netns, local, report);
    } finally {
      execFileSync("ip", ["netns", "del", netns]);
    }
  }
}

async function measure(netns: string, local: number, report: Report): Promise<void> {
  await using server = await testServer();
  const { signal } = new AbortController();
  const client = new Client({ transport: server.server.request, user: testUser, userAgent: "bench/1", signal });
  await inLanes(namespaces, (i) => client.create(Namespace, { metadata: { name: `ns-${i}`, labels: { n: `${i}` } } }));
  await inLanes(pods, (i) => makePod(client, i, i < local ? "n1" : "n2"));
  await inLanes(policies, (i) => client.create(NetworkPolicy, { metadata: placeOf(i), spec: specOf(i, 8_000) }));

  let applied = Promise.withResolvers<void>();
  const enter: RunInNetwork = async (command, options) => {
    const out = await runProgram(["nsenter", `--net=/run/netns/${netns}`, ...command], options);
    applied.resolve();
    return out;
  };
  const parts = { client, clock: server.clock, random: seededRandom(1), log: silentLog };
  const informers = new Informers(parts);
  const enforcer = new PolicyEnforcer({ ...parts, informers, node: "n1", run: enter });
  const stop = new AbortController();
  const begun = performance.now();
  const running = Promise.allSettled([informers.run(stop.signal), enforcer.run(stop.signal)]);
  await applied.promise;
  const where = `1,000 policies, 5,000 pods, ${local.toLocaleString("en")} of them here`;
  report({ name: `${where}: first sync`, value: performance.now() - begun, unit: "ms" });
  const timed = async (what: string, change: (i: number) => Promise<unknown>, goal?: { readonly atMost: number }) => {
    const times: number[] = [];
    for (let i = 0; i < changes; i++) {
      applied = Promise.withResolvers<void>();
      const asked = performance.now();
      await change(i);
      await applied.promise;
      times.push(performance.now() - asked);
    }
    times.sort((a, b) => a - b);
    // The goal is for what a change costs: one in a hundred waits for whoever else is using the machine.
    report({ name: `${where}: ${what}, median`, value: at(times, 0.5), unit: "ms", ...(goal && { goal }) });
    report({ name: `${where}: ${what}, 99 %`, value: at(times, 0.99), unit: "ms" });
  };
  const goal = { atMost: 100 };
  // A change of a policy that is for no pod of the node changes nothing there.
  const appsHere = Math.min(apps, Math.ceil(local / namespaces));
  const felt = Array.from({ length: policies }, (_, i) => i).filter((i) => (i >> 3) % apps < appsHere);
  await timed(
    "one policy changed to the kernel",
    (i) => {
      const which = felt[(i * 37) % felt.length] ?? 0;
      return client.patch(NetworkPolicy, placeOf(which), "merge", { spec: specOf(which, 9_000 + i) });
    },
    goal,
  );
  await timed("one pod's labels changed to the kernel", (i) =>
    client.patch(Pod, podPlace(i), "merge", { metadata: { labels: { tier: `${(i + 1) % 3}` } } }),
  );
  stop.abort(new Error("over"));
  await running;
}

const at = (sorted: readonly number[], part: number): number => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;

const placeOf = (i: number) => ({ namespace: `ns-${i % namespaces}`, name: `policy-${i}` });
const podPlace = (i: number) => ({ namespace: `ns-${i % namespaces}`, name: `pod-${i}` });

/** Policies of every shape: peers by pods, by namespaces, by both and by addresses. */
function specOf(i: number, port: number): Draft<NetworkPolicy["spec"]> {
  const app = { matchLabels: { app: `${(i >> 3) % apps}` } };
  const peers: readonly Draft<NonNullable<NonNullable<NetworkPolicy["spec"]["ingress"]>[number]["from"]>[number]>[] = [
    { podSelector: { matchLabels: { app: `${i % apps}` } } },
    { namespaceSelector: { matchLabels: { n: `${i % namespaces}` } }, podSelector: app },
    { namespaceSelector: {}, podSelector: { matchLabels: { tier: `${i % 3}`, app: `${i % 7}` } } },
    { ipBlock: { cidr: `10.${i % 200}.0.0/16`, except: [`10.${i % 200}.3.0/24`] } },
  ];
  const from = [peers[i % 4] ?? {}, peers[(i + 1) % 4] ?? {}];
  const ports = [{ port }, { protocol: "UDP" as const, port: 53 }, { port: "http" }];
  return { podSelector: app, policyTypes: ["Ingress", "Egress"], ingress: [{ from, ports }], egress: [{ to: from }] };
}

async function makePod(client: Client, i: number, nodeName: string): Promise<void> {
  const made = await client.create(Pod, {
    metadata: { ...podPlace(i), labels: { app: `${Math.floor(i / namespaces) % apps}`, tier: `${i % 3}` } },
    spec: { nodeName, containers: [{ name: "c", image: "i", ports: [{ name: "http", containerPort: 8080 }] }] },
  });
  const podIP = `10.${244 + (i >> 12)}.${(i >> 4) & 255}.${1 + (i & 15)}`;
  const status = { ...made.status, phase: "Running", podIP, podIPs: [{ ip: podIP }] };
  await client.update(Pod, { ...made, status } as Pod, "status");
}
