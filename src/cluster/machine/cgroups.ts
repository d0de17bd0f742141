// Control groups, of whichever version the machine has: one tree, or one for each controller, or both.
import { readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { mounts } from "#base/host/mounts.ts";
import { signalTo } from "./processes.ts";

const timeoutMs = 60_000;
const pollMs = 10;

/** Where the trees are mounted. */
export const cgroupTrees = (): readonly string[] =>
  mounts()
    .filter(({ type }) => type === "cgroup" || type === "cgroup2")
    .map(({ path }) => path);

/** The folders of this group in all trees; `parent` is as a container's configuration says it: `/knarr/one/n1`. */
const foldersOf = (parent: string): readonly string[] =>
  cgroupTrees()
    .map((tree) => join(tree, parent))
    .filter((folder, i, all) => all.indexOf(folder) === i && childrenOf(folder) !== undefined);

/** Kills all processes in these groups and those below, and removes the groups. Missing groups are no error. */
export async function removeCgroups(parents: readonly string[], clock: Clock): Promise<void> {
  for (const parent of parents)
    if (join("/", parent) === "/") throw new Error(`control group ${JSON.stringify(parent)} is the whole machine's`);
  const until = clock.elapsed() + timeoutMs;
  for (;;) {
    const groups = parents.flatMap(foldersOf).flatMap(withDescendants);
    for (const group of groups) killAllIn(group);
    const left = groups.filter((group) => !tryRemove(group));
    if (left.length === 0) break;
    if (clock.elapsed() > until) throw new Error(`control groups do not empty: ${left.join(", ")}`);
    await clock.sleep(pollMs, new AbortController().signal);
  }
  for (const parent of parents) removeEmptyAbove(parent);
}

/** What groups were below goes as well, unless it holds others. */
function removeEmptyAbove(group: string): void {
  const above = dirname(join("/", group));
  if (above === "/") return;
  for (const folder of foldersOf(above)) tryRemove(folder);
  removeEmptyAbove(above);
}

/** The innermost first. */
const withDescendants = (group: string): readonly string[] => [
  ...(childrenOf(group) ?? []).flatMap((name) => withDescendants(join(group, name))),
  group,
];

function childrenOf(group: string): readonly string[] | undefined {
  try {
    return readdirSync(group, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return undefined; // it is gone
  }
}

function killAllIn(group: string): void {
  // A frozen v1 group does not die. cgroup v2 has a file that kills, frozen or not.
  for (const [file, text] of [
    ["freezer.state", "THAWED"],
    ["cgroup.kill", "1"],
  ] as const)
    try {
      writeFileSync(join(group, file), text, { flag: "r+" });
    } catch {
      // a group of the other version, or an older kernel, has no such file
    }
  for (const pid of processesIn(group)) signalTo(pid, "SIGKILL");
}

export function processesIn(group: string): readonly number[] {
  try {
    return readFileSync(join(group, "cgroup.procs"), "latin1").split("\n").filter(Boolean).map(Number);
  } catch {
    return []; // it is gone, or holds threads only
  }
}

function tryRemove(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EBUSY" && code !== "ENOTEMPTY") throw error;
    return code === "ENOENT";
  }
}
