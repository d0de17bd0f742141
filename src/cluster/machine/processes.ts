// Processes of this machine, as /proc tells of them.

import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { hasCode } from "#base/errors.ts";
import { mounts } from "#base/host/mounts.ts";

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** All processes except kernel threads and zombies. */
export const processes = (): readonly ProcessInfo[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const args = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").slice(0, -1);
        if (args.length === 0) return [];
        // The program's name is in parentheses, and may contain some.
        const parent = readFileSync(`/proc/${name}/stat`, "latin1").split(") ").at(-1)?.split(" ")[1];
        return [{ pid: Number(name), parent: Number(parent), args, cwd: readlinkSync(`/proc/${name}/cwd`) }];
      } catch {
        return []; // it ended while we looked
      }
    });

/** The roots and all their descendants. */
export function withDescendants(
  roots: readonly ProcessInfo[],
  candidates: readonly ProcessInfo[],
): readonly ProcessInfo[] {
  const family = new Set(roots.map(({ pid }) => pid));
  for (let size = 0; size < family.size; ) {
    size = family.size;
    for (const { pid, parent } of candidates) if (family.has(parent)) family.add(pid);
  }
  return candidates.filter(({ pid }) => family.has(pid));
}

/** Whether the root file system of the process is an overlay of layers in this folder, as a container's is. */
export function isRootedIn(pid: number, folder: string): boolean {
  try {
    if (mountsAt(pid) === mountsAt("self")) return false; // most are: what is mounted takes long to read
    const root = mounts(pid).findLast(({ path }) => path === "/");
    return root?.type === "overlay" && root.options.includes(`=${folder}/`);
  } catch {
    return false; // it ended while we looked
  }
}

const mountsAt = (pid: number | "self"): string => readlinkSync(`/proc/${pid}/ns/mnt`);

/** Which network namespace a process is in, or a file holds; undefined if there is none. */
export function networkAt(path: string): number | undefined {
  try {
    return statSync(path).ino;
  } catch {
    return undefined; // the process ended, or the namespace was deleted
  }
}

export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!hasCode(error, "ESRCH")) throw error;
  }
}
