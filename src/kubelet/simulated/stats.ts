// What simulated nodes and their pods use, as /stats/summary tells it: what scripts or requests say of containers, and nothing of disks.
import type { Amounts } from "#api/core/v1/amounts.ts";
import type { Clock } from "#base/clock.ts";
import { parseQuantity, quantityToNumber } from "#schema/quantity.ts";
import { timeOf } from "#schema/time.ts";
import type { ContainerRuntime, ContainerState, RuntimeUsage } from "../runtime.ts";
import type { ServedPod } from "../server/server.ts";
import type {
  ContainerStats,
  CpuStats,
  FsStats,
  MemoryStats,
  PodStats,
  Summary,
  WhichStats,
} from "../stats/summary.ts";

export interface SimulatedStatsOptions {
  readonly node: string;
  readonly startedAt: number;
  readonly capacity: Amounts;
  readonly list: () => Iterable<ServedPod>;
  readonly runtime: Pick<ContainerRuntime, "usage">;
  readonly clock: Clock;
}

interface SimulatedUsage extends RuntimeUsage {
  /** Processor time per time. */
  readonly cores: number;
}

const nothing: SimulatedUsage = { cpuSeconds: 0, memoryBytes: 0, cores: 0 };

export async function simulatedSummary(
  { node, startedAt, capacity, list, runtime, clock }: SimulatedStatsOptions,
  which: WhichStats,
  signal: AbortSignal,
): Promise<Summary> {
  const now = clock.now();
  const time = timeOf(now);
  const running = [...list()]
    .map(({ pod, state }) => ({ pod, containers: state.containers.filter(({ phase }) => phase === "running") }))
    .filter(({ containers }) => containers.length > 0);
  const usage = await runtime.usage(
    running.flatMap(({ containers }) => containers.map(({ id }) => id)),
    signal,
  );
  const usedBy = ({ id, startedAt: since }: ContainerState): SimulatedUsage => {
    const used = usage.get(id);
    return used ? { ...used, cores: now > since ? (used.cpuSeconds * 1000) / (now - since) : 0 } : nothing;
  };
  const disk = emptyDisk(bytesOf(capacity["ephemeral-storage"]), time);
  const files = which === "all" ? { rootfs: disk, logs: disk } : {};
  const pods = running.map(({ pod, containers }): PodStats => {
    const { name, namespace = "", uid } = pod.metadata;
    return {
      podRef: { name, namespace, uid },
      startTime: pod.status.startTime ?? time,
      containers: containers.map(
        (container): ContainerStats => ({
          name: container.name,
          startTime: timeOf(container.startedAt),
          ...measured(usedBy(container), time),
          ...files,
        }),
      ),
      ...measured(sumOf(containers.map(usedBy)), time),
      ...(which === "all" && { "ephemeral-storage": disk }),
    };
  });
  const all = sumOf(running.flatMap(({ containers }) => containers.map(usedBy)));
  return {
    node: {
      nodeName: node,
      startTime: timeOf(startedAt),
      ...measured(all, time, bytesOf(capacity.memory)),
      ...(which === "all" && { fs: disk, runtime: { imageFs: disk, containerFs: disk } }),
    },
    pods,
  };
}

function measured(
  { cpuSeconds, cores, memoryBytes }: SimulatedUsage,
  time: string,
  ofBytes?: number,
): { readonly cpu: CpuStats; readonly memory: MemoryStats } {
  return {
    cpu: { time, usageNanoCores: Math.round(cores * 1e9), usageCoreNanoSeconds: Math.round(cpuSeconds * 1e9) },
    memory: {
      time,
      ...(ofBytes !== undefined && { availableBytes: Math.max(0, ofBytes - memoryBytes) }),
      usageBytes: memoryBytes,
      workingSetBytes: memoryBytes,
      rssBytes: memoryBytes,
      pageFaults: 0,
      majorPageFaults: 0,
    },
  };
}

const sumOf = (all: readonly SimulatedUsage[]): SimulatedUsage =>
  all.reduce(
    (sum, one) => ({
      cpuSeconds: sum.cpuSeconds + one.cpuSeconds,
      memoryBytes: sum.memoryBytes + one.memoryBytes,
      cores: sum.cores + one.cores,
    }),
    nothing,
  );

const bytesOf = (amount: string | undefined): number =>
  amount === undefined ? 0 : quantityToNumber(parseQuantity(amount));

const emptyDisk = (capacityBytes: number, time: string): FsStats => ({
  time,
  availableBytes: capacityBytes,
  capacityBytes,
  usedBytes: 0,
  inodesFree: inodes,
  inodes,
  inodesUsed: 0,
});

const inodes = 2 ** 25;
