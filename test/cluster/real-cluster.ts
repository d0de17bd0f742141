// A cluster of real nodes with a name and ranges of its own, how its API and its containerds agree, and what the machine has of it.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Pod } from "#api/core/v1/pod.ts";
import { systemClock } from "#base/clock.ts";
import { parseFlags } from "#cli/flags.ts";
import type { Client } from "#client/client.ts";
import { connectClient } from "#client/host/connect.ts";
import { ClusterFolder } from "#cluster/local/cluster-folder.ts";
import { newSettings, settingFlags } from "#cluster/local/settings.ts";
import { type LocalNodes, localNodes } from "#cluster/machine/local-nodes.ts";
import { processes } from "#cluster/machine/processes.ts";
import { changesOf, readTraces, type Traces } from "#cluster/machine/traces.ts";
import { CriConnection } from "#kubelet/host/cri/connection.ts";
import { rpcs } from "#kubelet/host/cri/messages.ts";
import { criLabels } from "#kubelet/runtime/cri-config.ts";
import { claimRanges } from "../machine/claim.ts";
import type { Machine, Ran } from "./machine.ts";

const { signal } = new AbortController();
const lookMs = 100;
const callMs = 30_000;
/** For a machine that does much else at once. */
export const patienceMs = 180_000;
const criRunning = 1;
const demoImages = ["knarr.local/busybox:1.0", "knarr.local/nginx:1.0"];

export interface RealClusterOptions {
  /** One letter: several clusters of a test may be there at once. */
  readonly label: string;
  readonly nodes: number;
}

export class RealCluster implements AsyncDisposable {
  readonly machine: Machine;
  readonly name: string;
  readonly place: ClusterFolder;
  readonly local: LocalNodes;
  readonly #flags: readonly string[];
  readonly #before: Traces;

  private constructor(
    machine: Machine,
    flags: readonly string[],
    local: LocalNodes,
    place: ClusterFolder,
    before: Traces,
  ) {
    this.machine = machine;
    this.name = place.name;
    this.place = place;
    this.local = local;
    this.#flags = flags;
    this.#before = before;
  }

  /** Looks at the machine; starts nothing. */
  static async plan(machine: Machine, { label, nodes }: RealClusterOptions): Promise<RealCluster> {
    const name = `t${process.pid}${label}`;
    const ranges = claimRanges(label);
    const flags = [
      `--nodes=${nodes}`,
      "--runtime=containerd",
      "--no-egress",
      "--addons=none",
      "--port=0",
      `--node-range=${ranges.nodeRange}`,
      `--cluster-cidr=${ranges.podRange}`,
      `--service-cluster-ip-range=${ranges.serviceRange}`,
      `--load-balancer-range=${ranges.loadBalancerRange}`,
    ];
    const place = new ClusterFolder({ name, "data-dir": machine.clusters });
    const local = localNodes(place, newSettings(parseFlags(settingFlags, flags).flags));
    return new RealCluster(machine, flags, local, place, await tracesOf(place, local));
  }

  /** The arguments that start it. */
  upArgs(...more: readonly string[]): readonly string[] {
    return ["up", `--name=${this.name}`, "--timeout=5m", ...this.#flags, ...more];
  }

  up(...more: readonly string[]): Promise<string> {
    return this.machine.ok(...this.upArgs(...more));
  }

  /** Waits for the images to try it with, for which `up` does not. */
  hasImages(): Promise<void> {
    return untilNone(callMs * 4, async () => {
      const found = this.local.nodes.map(({ containerd }) => containerd.ctr("images", "list", "--quiet"));
      const lists = await Promise.all(found);
      return demoImages.filter((image) => !lists.every((list) => list.includes(image)));
    });
  }

  knarr(verb: string, ...more: readonly string[]): Promise<Ran> {
    return this.machine.knarr(verb, `--name=${this.name}`, ...more);
  }

  /** The process of the cluster, which runs when knarr has returned. */
  get pid(): number {
    const holder = this.place.process;
    if (!holder)
      throw new Error(`cluster ${this.name} does not run:\n${readFileSync(this.place.log, "utf8").slice(-3000)}`);
    return holder.pid;
  }

  /** Its containerds and their shims. */
  programs(name: "containerd" | "containerd-shim-runc-v2"): readonly number[] {
    const ours = this.local.nodes.flatMap(({ runFolder, folder }) => [`${runFolder}/`, `${folder}/`]);
    return processes()
      .filter(({ args }) => args[0]?.endsWith(name) && args.some((arg) => ours.some((path) => arg.startsWith(path))))
      .map(({ pid }) => pid);
  }

  /** The client lasts as long as one call may take, or for so long. */
  async withClient<T>(use: (client: Client) => Promise<T>, lastsMs = callMs): Promise<T> {
    const { client, close } = await connectClient({
      explicit: this.place.adminKubeconfig,
      env: {},
      userAgent: "test",
      clock: systemClock,
      signal: AbortSignal.timeout(lastsMs),
    });
    try {
      return await use(client);
    } finally {
      close();
    }
  }

  pods(): Promise<readonly Pod[]> {
    return this.withClient(async (client) => (await client.list(Pod, { namespace: "default" })).items);
  }

  /** The pod once it is like this. */
  async become(name: string, isSo: (pod: Pod) => unknown, namespace = "default"): Promise<Pod> {
    const found: Pod[] = [];
    await untilNone(patienceMs, async () => {
      const pod = await this.withClient((client) => client.find(Pod, { namespace, name }));
      if (pod && isSo(pod)) found.push(pod);
      return found.length > 0 ? [] : [`${name}: ${JSON.stringify(pod?.status)}`];
    });
    const [pod] = found;
    assert.ok(pod);
    return pod;
  }

  /** In what the API and the containerds disagree. Nothing when each pod that runs has exactly its containers, and no pod others. */
  async disagreements(): Promise<readonly string[]> {
    const pods = await this.pods();
    const found = await Promise.all(
      this.local.nodes.map(async ({ name, containerd }) => {
        const here = pods.filter(({ spec }) => spec.nodeName === name);
        const { containers, sandboxes } = await runtimeAt(containerd.socket);
        const known = new Set(here.map(({ metadata }) => metadata.uid));
        return [
          ...here.flatMap((pod) => problemsOf(pod, containers, sandboxes)),
          ...[...containers, ...sandboxes]
            .filter(({ uid }) => !known.has(uid ?? ""))
            .map(({ id, uid }) => `${id} on ${name} is of pod ${uid}, which the API does not have`),
        ];
      }),
    );
    const unbound = pods.filter(({ spec }) => spec.nodeName === undefined);
    return [...found.flat(), ...unbound.map(({ metadata }) => `${metadata.name} is on no node`)];
  }

  /** Throws unless the machine is as it was before. A program that a killed process had just started may first come to its end. */
  leftNothing(): Promise<void> {
    return untilNone(callMs, async () => changesOf(this.#before, await tracesOf(this.place, this.local)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.knarr("down");
  }
}

/** How the container of that name does. */
export const containerOf = ({ status }: Pod, container = "main") =>
  status.containerStatuses?.find(({ name }) => name === container);

/** Asks until there is nothing to say any more; throws what is said last. */
export async function untilNone(withinMs: number, ask: () => Promise<readonly string[]>): Promise<void> {
  for (const until = systemClock.elapsed() + withinMs; ; await pause(lookMs)) {
    const said = await ask().catch((error: unknown) => [String(error)]);
    if (said.length === 0) return;
    if (systemClock.elapsed() > until) throw new Error(said.join("\n"));
  }
}

/** Kills a process, and returns when it is gone. */
export async function kill(pid: number): Promise<void> {
  process.kill(pid, "SIGKILL");
  await untilNone(callMs, async () => (processes().some((one) => one.pid === pid) ? [`${pid} is there`] : []));
}

interface Run {
  readonly id: string;
  readonly uid: string | undefined;
  readonly name: string;
  readonly isRunning: boolean;
}

async function runtimeAt(socket: string) {
  const connection = new CriConnection(`unix://${socket}`, systemClock);
  try {
    const options = { timeoutMs: callMs, signal };
    const [{ containers }, { items }] = await Promise.all([
      connection.call(rpcs.listContainers, {}, options),
      connection.call(rpcs.listSandboxes, {}, options),
    ]);
    return {
      containers: containers.map(
        ({ id, state, labels, metadata }): Run => ({
          id,
          uid: labels[criLabels.podUid],
          name: metadata?.name ?? "",
          isRunning: state === criRunning,
        }),
      ),
      sandboxes: items.map(
        ({ id, state, labels }): Run => ({ id, uid: labels[criLabels.podUid], name: "", isRunning: state === 0 }),
      ),
    };
  } finally {
    connection.close();
  }
}

function problemsOf(
  { metadata: { name, uid, deletionTimestamp }, spec, status }: Pod,
  containers: readonly Run[],
  sandboxes: readonly Run[],
): readonly string[] {
  if (deletionTimestamp !== undefined) return [`${name} is being deleted`];
  const isOver = status.phase === "Succeeded" || status.phase === "Failed";
  if (status.phase !== "Running" && !isOver) return [`${name} is ${status.phase}`];
  const running = (all: readonly Run[]) => all.filter((one) => one.uid === uid && one.isRunning);
  const expected = isOver ? 0 : 1;
  const counts: readonly (readonly [string, readonly Run[]])[] = [
    ["sandbox", running(sandboxes)],
    ...spec.containers.map((one) => [one.name, running(containers).filter((run) => run.name === one.name)] as const),
  ];
  const miscounts = counts
    .filter(([, found]) => found.length !== expected)
    .map(([what, found]) => `${name} (${status.phase}) has ${found.length} of ${what}, not ${expected}`);
  const told = (status.containerStatuses ?? [])
    .filter(({ state }) => state?.running)
    .map((one) => one.containerID ?? "");
  const ran = running(containers).map(({ id }) => `containerd://${id}`);
  const isSame = told.toSorted().join() === ran.toSorted().join();
  return isSame ? miscounts : [...miscounts, `${name} has [${ran}], but says [${told}]`];
}

/** Others use this machine at the same time: only what bears our names counts. */
async function tracesOf({ folder, name }: ClusterFolder, { network, runFolder }: LocalNodes): Promise<Traces> {
  const isMine = (trace: string) => [network.link, `knarr-${name}-`, `/${name}`].some((part) => trace.includes(part));
  const traces = await readTraces({ folders: [folder, runFolder], isMine });
  return { ...traces, files: [...traces.files, ...cniResultsOf(folder)] };
}

/** What CNI plugins answered is kept in a folder of theirs, with the configuration they were asked with. */
function cniResultsOf(folder: string): readonly string[] {
  const results = "/var/lib/cni/results";
  const isOurs = (file: string) => {
    try {
      const { config } = JSON.parse(readFileSync(join(results, file), "utf8")) as { config: string };
      return Buffer.from(config, "base64").toString("utf8").includes(`"${folder}/`);
    } catch {
      return false; // somebody else's, who has just removed it
    }
  };
  return existsSync(results) ? readdirSync(results).filter(isOurs) : [];
}
