// What a node and its pods use, as /stats/summary tells it. Names are those of upstream's stats/v1alpha1.
import type { FileSystemState } from "../node/pressure.ts";

/** How long processes have waited: all of them, and at least one. */
export interface PressureStats {
  readonly full: StallTimes;
  readonly some: StallTimes;
}

export interface StallTimes {
  /** In nanoseconds. */
  readonly total: number;
  /** In percent, over as many seconds. */
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface CpuStats {
  readonly time: string;
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds: number;
  readonly psi?: PressureStats;
}

export interface MemoryStats {
  readonly time: string;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly psi?: PressureStats;
}

export interface IoStats {
  readonly time: string;
  readonly psi: PressureStats;
}

export interface FsStats {
  readonly time: string;
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
  readonly inodesUsed?: number;
}

export interface VolumeStats extends FsStats {
  readonly name: string;
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
}

export interface InterfaceStats {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxErrors: number;
  readonly txBytes: number;
  readonly txErrors: number;
}

export interface NetworkStats extends InterfaceStats {
  readonly time: string;
  readonly interfaces: readonly InterfaceStats[];
}

interface TimedStats {
  readonly startTime: string;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
}

export interface ContainerStats extends TimedStats {
  readonly name: string;
  readonly rootfs?: FsStats;
  readonly logs?: FsStats;
}

export interface PodStats extends TimedStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly containers: readonly ContainerStats[];
  readonly network?: NetworkStats;
  readonly volume?: readonly VolumeStats[];
  readonly "ephemeral-storage"?: FsStats;
  readonly process_stats?: { readonly process_count: number };
}

export interface NodeStats extends TimedStats {
  readonly nodeName: string;
  readonly network?: NetworkStats;
  readonly fs?: FsStats;
  readonly runtime?: { readonly imageFs: FsStats; readonly containerFs: FsStats };
  readonly rlimit?: { readonly time: string; readonly maxpid: number; readonly curproc: number };
}

export interface Summary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

export type WhichStats = "all" | "cpu and memory";

/** How much a part of a file system holds, of all that there is. */
export const fsStats = (fs: FileSystemState, time: string, usedBytes = fs.usedBytes): FsStats => ({
  time,
  availableBytes: fs.availableBytes,
  capacityBytes: fs.capacityBytes,
  usedBytes,
  inodesFree: fs.inodesFree,
  inodes: fs.inodes,
  ...(usedBytes === fs.usedBytes && { inodesUsed: fs.inodes - fs.inodesFree }),
});

interface Sample {
  readonly at: number;
  readonly total: number;
  readonly rate: number | undefined;
}

/** CPU use in nanocores, from how the counter grows between two measurements. */
export class UsageRates {
  readonly #samples = new Map<string, Sample>();

  /** Nanoseconds per second; undefined at the first look, and what was last found when it is asked for again at once. */
  of(key: string, at: number, totalNanos: number): number | undefined {
    const before = this.#samples.get(key);
    if (before && at - before.at < minIntervalMs) return before.rate;
    const rate =
      before && totalNanos >= before.total
        ? Math.round(((totalNanos - before.total) * 1000) / (at - before.at))
        : undefined;
    this.#samples.set(key, { at, total: totalNanos, rate });
    return rate;
  }

  /** Forgets all but these. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#samples.keys()) if (!keys.has(key)) this.#samples.delete(key);
  }
}

const minIntervalMs = 1000;

/** The interfaces that `/proc/net/dev` lists, but not the one that leads nowhere. */
export function interfacesIn(text: string): readonly InterfaceStats[] {
  return text.split("\n").flatMap((line) => {
    const match = /^\s*([^:\s]+):\s*(.*)$/.exec(line);
    const [name, rest] = [match?.[1], (match?.[2] ?? "").trim().split(/\s+/).map(Number)];
    if (name === undefined || name === "lo" || rest.length < 16) return [];
    const [rxBytes = 0, , rxErrors = 0] = rest;
    const [txBytes = 0, , txErrors = 0] = rest.slice(8);
    return [{ name, rxBytes, rxErrors, txBytes, txErrors }];
  });
}

/** With the first interface in front: the one that pods and nodes are reached by. */
export function networkStats(text: string, time: string): NetworkStats | undefined {
  const interfaces = interfacesIn(text);
  const [first] = interfaces.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const main = interfaces.find(({ name }) => name === "eth0") ?? first;
  return main && { time, ...main, interfaces };
}
