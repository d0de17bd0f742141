// A whole cluster with simulated nodes, as `knarr up` starts it: one process, the embedded store, clients over HTTPS.
// KNARR_BENCH_PART=start|rollout|large|bind|idle measures only that. The scheduler by itself is measured by the suite `scheduler`.
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Client } from "#client/client.ts";
import { bareNodeMs, LocalCluster } from "./control-plane/local-cluster.ts";
import { inLanes, median, type Report } from "./figure.ts";

/** Upstream's kube-scheduler with kube-apiserver and etcd on a quiet machine of this size, in pods per second. */
const upstreamBound = 159;

export async function run(report: Report): Promise<void> {
  const parts = { start, rollout, large, bind, idle };
  const only = process.env.KNARR_BENCH_PART;
  for (const [name, part] of Object.entries(parts)) if (!only || name === only) await part(report);
}

async function start(report: Report): Promise<void> {
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < 5; round++) {
    bare.push(await bareNodeMs());
    const cluster = await LocalCluster.up("--nodes=5");
    ours.push(cluster.startMs);
    await cluster.down();
  }
  report({ name: "knarr up --nodes 5: until ready", value: median(ours), unit: "ms" });
  report({ name: "node -e 0", value: median(bare), unit: "ms" });
  report({ name: "knarr up against node -e 0", value: median(ours) / median(bare), unit: "×", goal: { atMost: 15 } });
}

async function rollout(report: Report): Promise<void> {
  const cluster = await LocalCluster.up("--nodes=500");
  try {
    const replicas = 5_000;
    const ms = await deploy(await cluster.client(), ["web"], replicas);
    report({
      name: "Deployment of 5,000 on 500 nodes: created to all ready",
      value: replicas / (ms / 1000),
      unit: "pods/s",
      goal: { atLeast: 700 },
    });
    report({ name: "memory with 500 nodes and 5,000 pods", value: cluster.rssMib(), unit: "MiB" });
  } finally {
    await cluster.down();
  }
}

async function large(report: Report): Promise<void> {
  const cluster = await LocalCluster.up("--nodes=5000");
  try {
    report({ name: "5,000 nodes: until ready", value: cluster.startMs / 1000, unit: "s" });
    const names = Array.from({ length: 15 }, (_, i) => `web-${i}`);
    const ms = await deploy(await cluster.client(), names, 2_000);
    report({ name: "30,000 pods on 5,000 nodes: until all ready", value: ms / 1000, unit: "s" });
    await new Promise((resolve) => setTimeout(resolve, 20_000)); // the collector gives memory back when all is quiet
    report({
      name: "5,000 nodes and 30,000 pods, idle",
      value: await cluster.idlePercent(30_000),
      unit: "% of a core",
      goal: { atMost: 10 },
    });
    report({
      name: "memory with 5,000 nodes and 30,000 pods",
      value: cluster.rssMib(),
      unit: "MiB",
      goal: { atMost: 900 },
    });
  } finally {
    await cluster.down();
  }
}

/** Pods as a client makes them over HTTPS, with 32 requests in flight, until the last one is seen bound: the suite `sched` of kbench. */
async function bind(report: Report): Promise<void> {
  const cluster = await LocalCluster.up("--nodes=1");
  try {
    const client = await cluster.client();
    await inLanes(1_000, (i) => registerNode(client, `bench-node-${i}`));
    const pods = 3_000;
    const bound = new Set<string>();
    const stop = new AbortController();
    const { resourceVersion } = await client.list(Pod, { namespace: "default" });
    const events = await client.watch(Pod, { namespace: "default", resourceVersion, signal: stop.signal });
    const begun = performance.now();
    const all = (async () => {
      for await (const batch of events) {
        for (const { object } of batch) if (object.spec?.nodeName) bound.add(object.metadata.name);
        if (bound.size === pods) return performance.now() - begun;
      }
      throw new Error("the watch ended early");
    })();
    const made = inLanes(pods, (i) =>
      client.create(Pod, {
        metadata: { name: `bench-${i}`, namespace: "default" },
        spec: {
          containers: [{ name: "c", image: "nginx", resources: { requests: { cpu: "10m", memory: "16Mi" } } }],
          tolerations: [{ operator: "Exists" }],
        },
      }),
    );
    const [ms] = await Promise.all([all, made]);
    stop.abort(new Error("done"));
    report({
      name: "3,000 pods over HTTPS on 1,000 nodes: created to all bound",
      value: pods / (ms / 1000),
      unit: "pods/s",
      goal: { atLeast: 6 * upstreamBound },
    });
  } finally {
    await cluster.down();
  }
}

async function idle(report: Report): Promise<void> {
  const cluster = await LocalCluster.up("--nodes=5");
  try {
    await deploy(await cluster.client(), ["web"], 100);
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    report({
      name: "5 nodes and 100 pods, idle",
      value: await cluster.idlePercent(30_000),
      unit: "% of a core",
      goal: { atMost: 1 },
    });
    report({
      name: "memory with 5 nodes and 100 pods",
      value: cluster.rssMib(),
      unit: "MiB",
      goal: { atMost: 150 },
    });
  } finally {
    await cluster.down();
  }
}

/** Milliseconds from the first creation until the last Deployment says that all its pods are ready. */
async function deploy(client: Client, names: readonly string[], replicas: number): Promise<number> {
  const namespace = "default";
  const { resourceVersion } = await client.list(Deployment, { namespace });
  const stop = new AbortController();
  const events = await client.watch(Deployment, { namespace, resourceVersion, signal: stop.signal });
  const begun = performance.now();
  for (const name of names)
    await client.create(Deployment, {
      metadata: { name, namespace },
      spec: {
        replicas,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [{ name: "web", image: "nginx", resources: { requests: { cpu: "10m" } } }] },
        },
      },
    });
  const waiting = new Set(names);
  try {
    for await (const batch of events) {
      for (const { object } of batch)
        if (object.status?.readyReplicas === replicas) waiting.delete(object.metadata.name);
      if (waiting.size === 0) return performance.now() - begun;
    }
  } finally {
    stop.abort(new Error("done"));
  }
  throw new Error("the watch ended early");
}

async function registerNode(client: Client, name: string): Promise<void> {
  const node = await client.create(Node, { metadata: { name, labels: { "kubernetes.io/hostname": name } } });
  const capacity = { cpu: "32", memory: "128Gi", pods: "110" };
  const now = node.metadata.creationTimestamp;
  const ready = {
    type: "Ready",
    status: "True",
    reason: "KubeletReady",
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  await client.update(
    Node,
    {
      ...node,
      metadata: { ...node.metadata, resourceVersion: "" }, // controllers write to it, too, and either order is fine
      status: { ...node.status, capacity, allocatable: capacity, conditions: [ready] },
    },
    "status",
  );
}
