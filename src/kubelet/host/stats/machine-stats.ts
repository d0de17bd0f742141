// The summary of a node of this machine: containers by what the runtime tells, pods by their control groups, the node by the machine.
import { readFile } from "node:fs/promises";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { timeOf } from "#schema/time.ts";
import { podGroup } from "../../cgroups/tree.ts";
import type { FileSystemState } from "../../node/pressure.ts";
import type { ServedPod } from "../../server/server.ts";
import {
  type ContainerStats,
  type CpuStats,
  fsStats,
  type IoStats,
  type MemoryStats,
  type NetworkStats,
  type NodeStats,
  networkStats,
  type PodStats,
  type Summary,
  UsageRates,
  type VolumeStats,
  type WhichStats,
} from "../../stats/summary.ts";
import type { Hierarchy } from "../cgroups/hierarchy.ts";
import { fileSystem } from "../machine.ts";
import { type GroupUsage, groupProcesses, groupUsage, machineUsage } from "./group-usage.ts";
import { groupPressures, machinePressures, type Pressures } from "./pressure.ts";

/** What the runtime tells of a container. */
export interface ContainerUsage extends Partial<Omit<GroupUsage, "cpuNanos" | "workingSetBytes">> {
  readonly cpuNanos: number;
  readonly workingSetBytes: number;
  /** What it has written besides its volumes. */
  readonly layerBytes: number;
}

export interface MachineStatsOptions {
  readonly node: string;
  readonly startedAt: number;
  readonly folder: string;
  readonly imageFolder: string;
  readonly hierarchy: Hierarchy;
  /** The node's own control group, if its pods are in groups of ours. */
  readonly cgroupRoot?: string | undefined;
  readonly list: () => Iterable<ServedPod>;
  readonly containers: (signal: AbortSignal) => Promise<ReadonlyMap<string, ContainerUsage>>;
  /** What the volumes of a pod hold. */
  readonly volumes: (pod: Pod) => Promise<readonly { readonly volume: VolumeStats; readonly isEphemeral: boolean }[]>;
  readonly logBytes: (pod: Pod, container: string) => Promise<number>;
  /** `/proc/net` of the node's network. */
  readonly procNet?: string;
  readonly clock: Clock;
}

export class MachineStats {
  readonly #options: MachineStatsOptions;
  readonly #rates = new UsageRates();

  constructor(options: MachineStatsOptions) {
    this.#options = options;
  }

  async summary(which: WhichStats, signal: AbortSignal): Promise<Summary> {
    const { list, containers, imageFolder } = this.#options;
    const usage = await containers(signal);
    const imageFs = await fileSystem(imageFolder);
    const pods: PodStats[] = [];
    for (const served of list()) {
      const stats = await this.#pod(served, usage, imageFs, which);
      if (stats) pods.push(stats);
    }
    this.#rates.keep(new Set(["node", ...usage.keys(), ...pods.map(({ podRef }) => podRef.uid)]));
    return { node: await this.#node(imageFs, which), pods };
  }

  get #now(): string {
    return timeOf(this.#options.clock.now());
  }

  async #node(imageFs: FileSystemState, which: WhichStats): Promise<NodeStats> {
    const { node, startedAt, folder, procNet = "/proc/net" } = this.#options;
    const time = this.#now;
    const measured = {
      nodeName: node,
      startTime: timeOf(startedAt),
      ...this.#measured("node", await machineUsage(), await machinePressures()),
    };
    if (which === "cpu and memory") return measured;
    const network = networkStats(await readFile(`${procNet}/dev`, "utf8"), time);
    const [maxpid, curproc] = await processes();
    return {
      ...measured,
      ...(network && { network }),
      fs: fsStats(await fileSystem(folder), time),
      runtime: { imageFs: fsStats(imageFs, time), containerFs: fsStats(imageFs, time) },
      rlimit: { time, maxpid, curproc },
    };
  }

  /** Undefined for a pod of which nothing runs. */
  async #pod(
    { pod, state }: ServedPod,
    usage: ReadonlyMap<string, ContainerUsage>,
    imageFs: FileSystemState,
    which: WhichStats,
  ): Promise<PodStats | undefined> {
    const { name, namespace = "", uid } = pod.metadata;
    const running = state.containers.filter(({ phase }) => phase === "running");
    const [sandbox] = state.sandboxes;
    if (!sandbox || running.length === 0) return undefined;
    const containers: ContainerStats[] = [];
    for (const { id, name: container, startedAt } of running) {
      const used = usage.get(id);
      if (!used) continue;
      const files =
        which === "all"
          ? {
              rootfs: fsStats(imageFs, this.#now, used.layerBytes),
              logs: fsStats(imageFs, this.#now, await this.#options.logBytes(pod, container)),
            }
          : {};
      containers.push({ name: container, startTime: timeOf(startedAt), ...this.#measured(id, used), ...files });
    }
    return {
      podRef: { name, namespace, uid },
      startTime: pod.status.startTime ?? timeOf(sandbox.createdAt),
      containers,
      ...this.#measured(
        uid,
        (await this.#group(pod)) ?? sumOf(running.flatMap(({ id }) => usage.get(id) ?? [])),
        await this.#pressures(pod),
      ),
      ...(which === "all" && (await this.#rest(pod, containers, imageFs))),
    };
  }

  /** What only the whole of a pod has: its network, its volumes, its processes. */
  async #rest(pod: Pod, containers: readonly ContainerStats[], imageFs: FileSystemState) {
    const { volumes, hierarchy, cgroupRoot } = this.#options;
    const measuredVolumes = await volumes(pod);
    const bytes = [
      ...containers.flatMap(({ rootfs, logs }) => [rootfs?.usedBytes ?? 0, logs?.usedBytes ?? 0]),
      ...measuredVolumes.filter(({ isEphemeral }) => isEphemeral).map(({ volume }) => volume.usedBytes),
    ];
    const inside = cgroupRoot === undefined ? undefined : await groupProcesses(hierarchy, podGroup(cgroupRoot, pod));
    const network = inside?.one !== undefined && !pod.spec.hostNetwork ? await this.#network(inside.one) : undefined;
    return {
      ...(network && { network }),
      ...(measuredVolumes.length > 0 && { volume: measuredVolumes.map(({ volume }) => volume) }),
      "ephemeral-storage": fsStats(
        imageFs,
        this.#now,
        bytes.reduce((sum, one) => sum + one, 0),
      ),
      ...(inside && { process_stats: { process_count: inside.count } }),
    };
  }

  async #network(pid: number): Promise<NetworkStats | undefined> {
    const text = await readFile(`/proc/${pid}/net/dev`, "utf8").catch(() => ""); // it has just ended
    return networkStats(text, this.#now);
  }

  async #group(pod: Pod): Promise<GroupUsage | undefined> {
    const { hierarchy, cgroupRoot } = this.#options;
    return cgroupRoot === undefined ? undefined : groupUsage(hierarchy, podGroup(cgroupRoot, pod));
  }

  /** Only control groups of version 2 tell them. */
  async #pressures(pod: Pod): Promise<Pressures> {
    const { hierarchy, cgroupRoot } = this.#options;
    if (cgroupRoot === undefined || !hierarchy.isUnified) return {};
    const folder = hierarchy.folderOf("cpu", podGroup(cgroupRoot, pod));
    return folder === undefined ? {} : groupPressures(folder);
  }

  #measured(key: string, used: Measurable, pressures: Pressures = {}): MeasuredStats {
    const time = this.#now;
    const { cpuNanos, workingSetBytes, availableBytes, usageBytes, rssBytes, pageFaults, majorPageFaults } = used;
    const usageNanoCores = this.#rates.of(key, this.#options.clock.elapsed(), cpuNanos);
    return {
      cpu: {
        time,
        ...(usageNanoCores !== undefined && { usageNanoCores }),
        usageCoreNanoSeconds: cpuNanos,
        ...(pressures.cpu && { psi: pressures.cpu }),
      },
      memory: {
        time,
        ...(availableBytes !== undefined && { availableBytes }),
        ...(usageBytes !== undefined && { usageBytes }),
        workingSetBytes,
        ...(rssBytes !== undefined && { rssBytes }),
        ...(pageFaults !== undefined && { pageFaults }),
        ...(majorPageFaults !== undefined && { majorPageFaults }),
        ...(pressures.memory && { psi: pressures.memory }),
      },
      ...(pressures.io && { io: { time, psi: pressures.io } }),
    };
  }
}

interface MeasuredStats {
  readonly cpu: CpuStats;
  readonly memory: MemoryStats;
  readonly io?: IoStats;
}

type Measurable = Pick<ContainerUsage, "cpuNanos" | "workingSetBytes"> &
  Partial<GroupUsage> & { readonly availableBytes?: number };

const sumOf = (all: readonly ContainerUsage[]): Measurable => ({
  cpuNanos: all.reduce((sum, { cpuNanos }) => sum + cpuNanos, 0),
  workingSetBytes: all.reduce((sum, { workingSetBytes }) => sum + workingSetBytes, 0),
});

/** How many processes there may be, and are. */
async function processes(): Promise<readonly [number, number]> {
  const most = Number(await readFile("/proc/sys/kernel/pid_max", "utf8"));
  const load = await readFile("/proc/loadavg", "utf8");
  return [most, Number(/ \d+\/(\d+) /.exec(load)?.[1] ?? 0)];
}
