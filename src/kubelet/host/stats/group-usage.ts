// What the processes of a control group use, and those of the whole machine.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "#base/errors.ts";
import type { Hierarchy } from "../cgroups/hierarchy.ts";
import { memoryInfo } from "../machine.ts";

export interface GroupUsage {
  readonly cpuNanos: number;
  readonly usageBytes: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
}

/** Undefined if there is no such group. */
export async function groupUsage(hierarchy: Hierarchy, group: string): Promise<GroupUsage | undefined> {
  const { isUnified } = hierarchy;
  const read = async (controller: string, file: string) => {
    const folder = hierarchy.folderOf(controller, group);
    return folder === undefined ? "" : readFile(join(folder, file), "utf8");
  };
  try {
    const stat = wordsOf(await read("memory", "memory.stat"));
    const usageBytes = Number(await read("memory", isUnified ? "memory.current" : "memory.usage_in_bytes"));
    const cpuNanos = isUnified
      ? (wordsOf(await read("cpu", "cpu.stat")).get("usage_usec") ?? 0) * 1000
      : Number(await read("cpuacct", "cpuacct.usage"));
    const statOf = (first: string, second: string) => stat.get(isUnified ? second : first) ?? 0;
    return {
      cpuNanos,
      usageBytes,
      workingSetBytes: Math.max(0, usageBytes - statOf("total_inactive_file", "inactive_file")),
      rssBytes: statOf("total_rss", "anon"),
      pageFaults: statOf("total_pgfault", "pgfault"),
      majorPageFaults: statOf("total_pgmajfault", "pgmajfault"),
    };
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENODEV")) return undefined;
    throw error;
  }
}

/** How many processes are in a group and below, and one of them. */
export async function groupProcesses(
  hierarchy: Hierarchy,
  group: string,
): Promise<{ readonly count: number; readonly one: number | undefined }> {
  const folder = hierarchy.folderOf("pids", group);
  const pids = folder === undefined ? [] : await pidsIn(folder);
  return { count: pids.length, one: pids[0] };
}

async function pidsIn(folder: string): Promise<readonly number[]> {
  try {
    const pids = (await readFile(join(folder, "cgroup.procs"), "utf8")).split("\n").filter(Boolean).map(Number);
    const entries = await readdir(folder, { withFileTypes: true });
    const inner = await Promise.all(
      entries.filter((entry) => entry.isDirectory()).map(({ name }) => pidsIn(join(folder, name))),
    );
    return [...pids, ...inner.flat()];
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENODEV")) return [];
    throw error;
  }
}

/** Of all processes of the machine. */
export async function machineUsage(): Promise<GroupUsage & { readonly availableBytes: number }> {
  const { totalBytes, freeBytes, inactiveFileBytes, anonymousBytes } = await memoryInfo();
  const faults = wordsOf(await readFile("/proc/vmstat", "utf8"));
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = (
    (await readFile("/proc/stat", "utf8")).split("\n")[0] ?? ""
  )
    .split(/\s+/)
    .map(Number);
  const workingSetBytes = totalBytes - freeBytes - inactiveFileBytes;
  return {
    cpuNanos: (user + nice + system + irq + softirq + steal) * tickNanos,
    usageBytes: totalBytes - freeBytes,
    workingSetBytes,
    availableBytes: totalBytes - workingSetBytes,
    rssBytes: anonymousBytes,
    pageFaults: faults.get("pgfault") ?? 0,
    majorPageFaults: faults.get("pgmajfault") ?? 0,
  };
}

/** Linux counts in hundredths of a second there, whatever its own clock. */
const tickNanos = 10_000_000;

/** Lines of a name and a number. */
const wordsOf = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text.split("\n").flatMap((line) => {
      const [name, value] = line.split(" ");
      return name && value ? [[name, Number(value)] as const] : [];
    }),
  );
