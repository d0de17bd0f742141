// Control groups of this machine, whichever version it has: one tree, or one for each controller, or both.
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/errors.ts";
import { mounts } from "#base/host/mounts.ts";
import { cpuPeriod, type GroupLimits } from "../../cgroups/limits.ts";

const needed = ["cpu", "memory", "pids", "hugetlb", "cpuset", "io"];
const maxKills = 100;
const pollMs = 20;

export class Hierarchy {
  /** Mount point of each cgroup v1 controller. */
  readonly #byController: ReadonlyMap<string, string>;
  /** Mount point of the cgroup v2 hierarchy, if the machine has no v1 controllers. */
  readonly #unified: string | undefined;
  readonly #roots: readonly string[];

  constructor(found = mounts()) {
    const first = found.filter(({ type }) => type === "cgroup");
    this.#byController = new Map(first.flatMap(({ path, options }) => options.split(",").map((name) => [name, path])));
    const [second] = found.filter(({ type }) => type === "cgroup2");
    this.#unified = first.length === 0 ? second?.path : undefined;
    this.#roots = [...new Set([...first, ...(second ? [second] : [])].map(({ path }) => path))];
  }

  get isUnified(): boolean {
    return this.#unified !== undefined;
  }

  /** Where a controller's files of a group are; undefined if the machine has no such controller. */
  folderOf(controller: string, group: string): string | undefined {
    const root = this.#unified ?? this.#byController.get(controller);
    return root === undefined ? undefined : join(root, group);
  }

  /** Makes a group with these limits, or changes it. */
  async set(group: string, limits: GroupLimits): Promise<void> {
    if (this.#unified !== undefined) return this.#setUnified(this.#unified, group, limits);
    const write = async (controller: string, files: Readonly<Record<string, number>>) => {
      const folder = this.folderOf(controller, group);
      if (folder === undefined) return;
      await mkdir(folder, { recursive: true });
      for (const [file, value] of Object.entries(files)) await writeFile(join(folder, file), String(value));
    };
    const hugepages = limits.hugepages?.map(({ pageSize, limit }) => [`hugetlb.${pageSize}.limit_in_bytes`, limit]);
    await Promise.all([
      write("cpu", {
        "cpu.shares": limits.cpuShares,
        "cpu.cfs_period_us": cpuPeriod,
        "cpu.cfs_quota_us": limits.cpuQuota || -1,
      }),
      write("memory", { "memory.limit_in_bytes": limits.memoryBytes || -1 }),
      limits.pids !== undefined && write("pids", { "pids.max": limits.pids }),
      hugepages && write("hugetlb", Object.fromEntries(hugepages)),
    ]);
  }

  async #setUnified(root: string, group: string, limits: GroupLimits): Promise<void> {
    const folder = join(root, group);
    await mkdir(folder, { recursive: true });
    await this.#enable(root, folder);
    const write = (file: string, value: string) => writeFile(join(folder, file), value);
    await write("cpu.weight", String(1 + Math.floor(((limits.cpuShares - 2) * 9999) / 262_142)));
    await write("cpu.max", `${limits.cpuQuota || "max"} ${cpuPeriod}`);
    await write("memory.max", limits.memoryBytes ? String(limits.memoryBytes) : "max");
    if (limits.pids !== undefined) await write("pids.max", String(limits.pids));
    for (const { pageSize, limit } of limits.hugepages ?? []) await write(`hugetlb.${pageSize}.max`, String(limit));
  }

  /** Lets the groups below have controllers, from the top down. */
  async #enable(root: string, folder: string): Promise<void> {
    if (folder !== root) await this.#enable(root, dirname(folder));
    const words = async (file: string) => (await readFile(join(folder, file), "utf8")).trim().split(" ");
    const [able, on] = [await words("cgroup.controllers"), await words("cgroup.subtree_control")];
    const missing = needed.filter((name) => able.includes(name) && !on.includes(name));
    if (missing.length > 0)
      await writeFile(join(folder, "cgroup.subtree_control"), missing.map((name) => `+${name}`).join(" "));
  }

  /** Names of the groups directly below, in any tree. */
  async below(group: string): Promise<readonly string[]> {
    const found = await Promise.all(this.#roots.map((root) => childrenOf(join(root, group))));
    return [...new Set(found.flat())];
  }

  /** Removes a group and those below from all trees. Processes that are left in it are killed. */
  async remove(group: string, clock: Clock, signal: AbortSignal): Promise<void> {
    for (const root of this.#roots)
      for (let tries = 0; !(await tryRemove(join(root, group))); tries++) {
        if (tries === maxKills) throw new Error(`control group ${join(root, group)} does not empty`);
        await killAllIn(join(root, group));
        await clock.sleep(pollMs, signal);
      }
  }
}

async function childrenOf(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENODEV")) return [];
    throw error;
  }
}

/** Whether it is gone by now, with all below. */
async function tryRemove(folder: string): Promise<boolean> {
  let isEmpty = true;
  for (const name of await childrenOf(folder)) if (!(await tryRemove(join(folder, name)))) isEmpty = false;
  if (!isEmpty) return false;
  try {
    await rmdir(folder);
  } catch (error) {
    if (hasCode(error, "EBUSY", "ENOTEMPTY")) return false;
    if (!hasCode(error, "ENOENT")) throw error;
  }
  return true;
}

async function killAllIn(folder: string): Promise<void> {
  for (const name of await childrenOf(folder)) await killAllIn(join(folder, name));
  const text = await readFile(join(folder, "cgroup.procs"), "utf8").catch(() => ""); // it has just gone
  for (const pid of text.split("\n").filter(Boolean).map(Number))
    try {
      if (pid > 1) process.kill(pid, "SIGKILL");
    } catch (error) {
      if (!hasCode(error, "ESRCH")) throw error;
    }
}
