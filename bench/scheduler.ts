// From pods that wait to pods that are bound: API server, informers and scheduler in one process, on one core, 5,000 nodes.
// The figures are of processor time, so that a busy machine does not spoil them. KNARR_BENCH_PART=basic|affinity|spread|apart|stuck
// measures only that.
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { turn } from "#base/breathe.ts";
import type { ManualClock } from "#base/clock.ts";
import { inBatches } from "#base/collections.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { Scheduler } from "#scheduler/scheduler.ts";
import type { Draft } from "#schema/infer.ts";
import type { Report } from "./figure.ts";

const nodes = 5_000;
const zones = 10;
const labels = { app: "bench" };
const selector = { matchLabels: labels };

interface Workload {
  readonly part: string;
  readonly name: string;
  readonly pods: number;
  readonly goal: number;
  readonly spec: Draft<Pod["spec"]>;
}

const workloads: readonly Workload[] = [
  { part: "basic", name: "plain pods", pods: 4000, goal: 1000, spec: {} },
  {
    part: "affinity",
    name: "pods with required node affinity",
    pods: 4000,
    goal: 800,
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: "topology.kubernetes.io/zone", operator: "In", values: ["zone-1", "zone-2", "zone-3"] },
                ],
              },
            ],
          },
        },
      },
    },
  },
  {
    part: "spread",
    name: "pods spread evenly over zones",
    pods: 4000,
    goal: 600,
    spec: {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "topology.kubernetes.io/zone",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: selector,
        },
      ],
    },
  },
  {
    part: "apart",
    name: "pods of which each must have its own node",
    pods: 4000,
    goal: 250,
    spec: {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "kubernetes.io/hostname", labelSelector: selector },
          ],
        },
      },
    },
  },
];

export async function run(report: Report): Promise<void> {
  const only = process.env.KNARR_BENCH_PART;
  for (const workload of workloads) {
    if (only && workload.part !== only) continue;
    const perSecond = await boundPerSecond(workload);
    report({ name: `${workload.name} bound`, value: perSecond, unit: "pods/s", goal: { atLeast: workload.goal } });
  }
  if (!only || only === "stuck") {
    const share = await costOfStuck(10_000);
    report({
      name: "10,000 pods that fit nowhere, while nothing changes",
      value: share,
      unit: "%",
      goal: { atMost: 3 },
    });
  }
}

async function boundPerSecond({ pods, spec }: Workload): Promise<number> {
  await using cluster = await start();
  await havePods(cluster.client, pods, { cpu: "100m", memory: "100Mi" }, spec);
  const before = processorMs();
  cluster.schedule();
  await cluster.until(() => cluster.bound() === pods);
  return (pods * 1000) / (processorMs() - before);
}

/** Percent of a core, over an hour in which nothing happens. */
async function costOfStuck(pods: number): Promise<number> {
  await using cluster = await start();
  await havePods(cluster.client, pods, { cpu: "1000" }, {});
  cluster.schedule();
  await cluster.until(() => cluster.stuck() === pods);
  await cluster.clock.advance(60_000);
  const before = processorMs();
  const minutes = 60;
  for (let i = 0; i < minutes; i++) await cluster.clock.advance(60_000);
  return ((processorMs() - before) / (minutes * 60_000)) * 100;
}

export interface BenchCluster extends AsyncDisposable {
  readonly client: Client;
  readonly clock: ManualClock;
  schedule(): void;
  bound(): number;
  stuck(): number;
  until(isDone: () => boolean): Promise<void>;
}

export async function start(): Promise<BenchCluster> {
  const server = await testServer({ protect: (object) => object });
  const stop = new AbortController();
  const { signal } = stop;
  const client = new Client({ transport: server.server.request, user: testUser, userAgent: "bench/1", signal });
  await inBatches(32, Array(nodes).keys(), (i) => client.create(Node, node(i)).then(() => undefined));
  const context = { client, clock: server.clock, random: seededRandom(1), log: silentLog };
  const informers = new Informers(context);
  const scheduler = new Scheduler({ ...context, informers });
  const { cache } = informers.of(Pod);
  let done: Promise<void> | undefined;
  return {
    client,
    clock: server.clock,
    schedule() {
      done = supervise([informers, scheduler], signal);
    },
    bound: () => cache.list().filter(({ spec }) => spec.nodeName).length,
    stuck: () => scheduler.pending.stuck,
    async until(isDone) {
      do for (let i = 0; i < 200; i++) await turn();
      while (!isDone());
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the measurement is over"));
      await done;
      await server[Symbol.asyncDispose]();
    },
  };
}

function node(i: number): Draft<Node> {
  const name = `node-${i}`;
  const allocatable = { cpu: "32", memory: "128Gi", pods: "110" };
  return {
    metadata: {
      name,
      labels: { "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": `zone-${i % zones}` },
    },
    status: { allocatable, capacity: allocatable },
  };
}

async function havePods(
  client: Client,
  count: number,
  requests: Readonly<Record<string, string>>,
  spec: Draft<Pod["spec"]>,
): Promise<void> {
  const containers = [{ name: "app", image: "registry.example.com/app:1", resources: { requests } }];
  await inBatches(32, Array(count).keys(), async (i) => {
    await client.create(Pod, {
      metadata: { name: `pod-${i}`, namespace: "default", labels },
      spec: { containers, ...spec },
    });
  });
}

export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
