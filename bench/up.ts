// One real node, as `knarr up` makes it: how long until the API answers, the node is ready, a pod runs and names are resolved; and what
// the processes of the cluster use then. Each round is a new cluster. The first one begins with an empty folder, and so has to make the
// images to try it with; the others find them. Needs root and containerd.
import { createSocket } from "node:dgram";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { encode } from "dns-packet";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import type { Client } from "#client/client.ts";
import { pauseReference } from "#cluster/images/pause.ts";
import { bareNodeMs, LocalCluster } from "./control-plane/local-cluster.ts";
import { inLanes, median, type Report } from "./figure.ts";
import { seen } from "./up/seen.ts";

const demoReference = "knarr.local/busybox:1.0";
const rounds = 5;
const pods = 100;
const lookMs = 10;
const fetchMs = 90_000;
/** The collector gives memory back when all is quiet. */
const quietMs = 20_000;
const idleMs = 30_000;

interface Times {
  readonly served: number;
  readonly ready: number;
  readonly running: number;
  readonly resolved: number;
  readonly returned: number;
}

export async function run(report: Report): Promise<void> {
  const cluster = new LocalCluster("--runtime=containerd", "--nodes=1", "--no-egress");
  const times: Times[] = [];
  const bare: number[] = [];
  let fromNothing = 0;
  try {
    for (let round = -1; round < rounds; round++) {
      await cluster.end();
      const one = await start(cluster, round < 0 ? demoReference : pauseReference);
      if (round >= 0) times.push(one);
      else {
        fromNothing = one.running / 1000;
        await imagesIn(cluster);
      }
      bare.push(await bareNodeMs());
    }
    const goals = { served: 0.8, ready: 2, running: 4, resolved: 5, returned: undefined };
    const names: Record<keyof Times, string> = {
      served: "knarr up: until /readyz answers",
      ready: "knarr up: until its node is ready",
      running: "knarr up: until a first pod runs, its image being there",
      resolved: "knarr up: until names are resolved",
      returned: "knarr up: until it returns",
    };
    for (const step of Object.keys(names) as (keyof Times)[]) {
      const goal = goals[step];
      const value = median(times.map((one) => one[step])) / 1000;
      report({ name: names[step], value, unit: "s", ...(goal && { goal: { atMost: goal } }) });
    }
    const name = "knarr up, from an empty folder: until a first pod of an image to try it with runs";
    report({ name, value: fromNothing, unit: "s", goal: { atMost: 6 } });
    report({ name: "node -e 0", value: median(bare), unit: "ms" });
    await use(cluster, report);
  } finally {
    await cluster.down();
  }
}

async function use(cluster: LocalCluster, report: Report): Promise<void> {
  const client = await cluster.client();
  await pause(quietMs);
  const idle = await cluster.idlePercent(idleMs);
  report({ name: "one node, idle", value: idle, unit: "% of a core", goal: { atMost: 1.5 } });
  report({ name: "memory, idle", value: cluster.rssMib(), unit: "MiB", goal: { atMost: 180 } });
  const ready = seen(client, Pod, (all) => all.filter(isRunning).length >= pods);
  await inLanes(pods - 1, (i) => createPod(client, `web-${i}`, pauseReference)); // the first one is there
  await ready;
  await pause(quietMs);
  report({ name: `memory with ${pods} pods`, value: cluster.rssMib(), unit: "MiB", goal: { atMost: 260 } });
}

/** Milliseconds since the command was given. */
async function start(cluster: LocalCluster, image: string): Promise<Times> {
  const begun = performance.now();
  const since = () => performance.now() - begun;
  const returned = cluster.start().then(() => cluster.startMs);
  const steps = async () => {
    const { client, read } = await cluster.connect();
    await until(async () => (await read("/readyz")) === "ok");
    const served = since();
    const ready = seen(client, Node, (nodes) => nodes.some(isReady)).then(since);
    const resolved = resolves(client).then(since);
    const running = createPod(client, "first", image)
      .then(() => seen(client, Pod, (all) => all.some(isRunning)))
      .then(since);
    return { served, ready: await ready, running: await running, resolved: await resolved };
  };
  const [times, at] = await Promise.all([steps(), returned]);
  return { ...times, returned: at };
}

/** Images to try the cluster with are fetched once; whoever measures need not share the machine with that. */
async function imagesIn({ imageCache }: LocalCluster): Promise<void> {
  const patience = performance.now() + fetchMs;
  while (!existsSync(join(imageCache, "demo.json")) && performance.now() < patience) await pause(lookMs);
}

/** In the words of the API: as soon as it may be created. */
async function createPod(client: Client, name: string, image: string): Promise<void> {
  const containers = [{ name: "pause", image, ...(image === demoReference && { command: ["sleep", "3600"] }) }];
  await until(async () => {
    await client.create(Pod, { metadata: { name, namespace: "default" }, spec: { containers } });
    return true;
  });
}

/** When the cluster's DNS answers this machine, through the address of its service. */
async function resolves(client: Client): Promise<void> {
  let address = "";
  await until(async () => {
    address = (await client.get(Service, { namespace: "kube-system", name: "kube-dns" })).spec.clusterIP ?? "";
    return address !== "";
  });
  const name = "kubernetes.default.svc.cluster.local";
  const question = encode({ type: "query", id: 1, flags: 0x100, questions: [{ type: "A", name }] });
  const socket = createSocket("udp4");
  try {
    let isAnswered = false;
    socket.on("message", (answer) => {
      isAnswered ||= answer.readUInt16BE(6) > 0; // it has records
    });
    socket.on("error", () => undefined); // refused until there are rules
    await until(async () => {
      socket.send(question, 53, address, () => undefined);
      await pause(lookMs);
      return isAnswered;
    });
  } finally {
    socket.close();
  }
}

/** Asks again until it is so; refusals are what a cluster says that has just begun. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const patience = performance.now() + fetchMs; ; await pause(lookMs))
    try {
      if (await isSo()) return;
    } catch (error) {
      if (performance.now() > patience) throw error;
    }
}

const isRunning = (pod: Pod): boolean => pod.status.phase === "Running";
const isReady = (node: Node): boolean =>
  node.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
