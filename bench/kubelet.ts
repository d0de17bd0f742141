// One pod on a real node, from its creation there until clients see it running, against `ctr run` of the same image on the same
// containerd, in turn; and how long a node takes to make a hundred pods ready, against as many of `ctr run`. What was measured is gone
// from the node before the next is. Needs root and containerd.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { systemClock } from "#base/clock.ts";
import { inBatches } from "#base/collections.ts";
import type { Client } from "#client/client.ts";
import { pauseReference } from "#cluster/images/pause.ts";
import { podsAtOnce } from "#kubelet/host/machine-kubelet.ts";
import { isReady } from "#rules/conditions.ts";
import { LocalCluster } from "./control-plane/local-cluster.ts";
import { median, type Report } from "./figure.ts";
import { seen } from "./up/seen.ts";

const rounds = 15;
const replicas = 100;
const lookMs = 5;
const { signal } = new AbortController();
const node = "node-1";
const namespace = "default";
const spec = { containers: [{ name: "pause", image: pauseReference }] };
const exec = promisify(execFile);

export async function run(report: Report): Promise<void> {
  const cluster = new LocalCluster("--runtime=containerd", "--nodes=1", "--no-egress", "--addons=none");
  try {
    await cluster.start();
    const client = await cluster.client();
    const ctr = ctrOf(cluster);
    const [ours, bare]: [number[], number[]] = [[], []];
    for (let round = 0; round <= rounds; round++) {
      const pair = [await ctrRun(ctr, `bench-${round}`), await podRun(client, ctr, `one-${round}`)] as const;
      if (round === 0) continue; // the first of all is slower than any other
      bare.push(pair[0]);
      ours.push(pair[1]);
    }
    report({ name: "ctr run", value: median(bare), unit: "ms" });
    report({ name: "pod: created on its node to running", value: median(ours), unit: "ms" });
    report({
      name: "pod: to running, against ctr run",
      value: median(ours) / median(bare),
      unit: "×",
      goal: { atMost: 2.5 },
    });
    const ms = await ctrRuns(ctr);
    report({ name: `${replicas} × ctr run, ${podsAtOnce} at once`, value: ms / 1000, unit: "s" });
    const { halfMs, allMs } = await deploy(client);
    report({ name: `${replicas} pods: created to half of them ready`, value: halfMs / 1000, unit: "s" });
    report({ name: `${replicas} pods: created to all ready`, value: allMs / 1000, unit: "s" });
  } finally {
    await cluster.down();
  }
}

/** Milliseconds until a client sees it running. It is removed then. */
async function podRun(client: Client, ctr: Ctr, name: string): Promise<number> {
  const one = { namespace, fieldSelector: `metadata.name=${name}` };
  const begun = performance.now();
  const running = seen(client, Pod, ([pod]) => pod?.status.phase === "Running", one);
  await client.create(Pod, { metadata: { name, namespace }, spec: { ...spec, nodeName: node } });
  await running;
  const ms = performance.now() - begun;
  await client.delete(Pod, { name, namespace });
  await seen(client, Pod, (pods) => pods.length === 0, one);
  while ((await ctr("containers", "list", "--quiet")).trim() !== "") await systemClock.sleep(lookMs, signal);
  return ms;
}

type Ctr = (...args: readonly string[]) => Promise<string>;

/** Milliseconds until its process runs. */
async function ctrRun(ctr: Ctr, id: string): Promise<number> {
  const begun = performance.now();
  await ctr("run", "--detach", pauseReference, id);
  const ms = performance.now() - begun;
  await ctrRemove(ctr, id);
  return ms;
}

/** Milliseconds until all of them run. */
async function ctrRuns(ctr: Ctr): Promise<number> {
  const ids = Array.from({ length: replicas }, (_, i) => `many-${i}`);
  const begun = performance.now();
  await inBatches(podsAtOnce, ids, async (id) => void (await ctr("run", "--detach", pauseReference, id)));
  const ms = performance.now() - begun;
  await inBatches(podsAtOnce, ids, (id) => ctrRemove(ctr, id));
  return ms;
}

async function ctrRemove(ctr: Ctr, id: string): Promise<void> {
  await ctr("tasks", "delete", "--force", id);
  await ctr("containers", "delete", id);
}

/** Speaks to the containerd of the node. */
function ctrOf({ folder }: LocalCluster): Ctr {
  const config = readFileSync(join(folder, "nodes", node, "containerd.toml"), "utf8");
  const socket = /\[grpc\]\n\s*address = "(.*)"/.exec(config)?.[1];
  if (socket === undefined) throw new Error(`no socket is named in:\n${config}`);
  return async (...args) => (await exec("ctr", ["--address", socket, "--namespace", "k8s.io", ...args])).stdout;
}

/** Milliseconds from the creation of a Deployment until half of its pods are ready, and until all are. */
async function deploy(client: Client): Promise<{ readonly halfMs: number; readonly allMs: number }> {
  const begun = performance.now();
  const matchLabels = { app: "web" };
  await client.create(Deployment, {
    metadata: { name: "web", namespace },
    spec: { replicas, selector: { matchLabels }, template: { metadata: { labels: matchLabels }, spec } },
  });
  const ready = async (count: number) => {
    await seen(client, Pod, (pods) => pods.filter(isReady).length >= count, { namespace });
    return performance.now() - begun;
  };
  const [halfMs, allMs] = await Promise.all([ready(replicas / 2), ready(replicas)]);
  return { halfMs, allMs };
}
