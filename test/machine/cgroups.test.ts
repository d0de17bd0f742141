// Control groups of whichever version this machine has are emptied and removed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { cgroupTrees, removeCgroups } from "#cluster/machine/cgroups.ts";
import { impossible } from "./machine.ts";

const trees = impossible === false ? cgroupTrees() : [];
/** In those of the first version a new group of processors has none until it is told which. */
const usable = trees.filter((tree) => !existsSync(join(tree, "cpuset.cpus")));

test("removing control groups ends what is in them, also what is frozen, and takes empty ones above along", {
  skip: impossible || (usable.length === 0 && "no control groups are mounted"),
}, async () => {
  const cluster = `/knarr/t${process.pid}`;
  const ends: Promise<readonly unknown[]>[] = [];
  for (const tree of trees) mkdirSync(join(tree, cluster, "n1", "pod", "empty"), { recursive: true });
  for (const place of ["n1", "n1/pod"]) {
    const child = spawn("sleep", ["1000"], { stdio: "ignore" });
    ends.push(once(child, "exit"));
    for (const tree of usable) writeFileSync(join(tree, cluster, place, "cgroup.procs"), String(child.pid));
  }
  for (const tree of usable)
    for (const [file, text] of [
      ["freezer.state", "FROZEN"],
      ["cgroup.freeze", "1"],
    ] as const)
      if (existsSync(join(tree, cluster, "n1/pod", file))) writeFileSync(join(tree, cluster, "n1/pod", file), text);
  mkdirSync(join(usable[0] as string, cluster, "n2"));
  try {
    await removeCgroups([`${cluster}/n1`, `${cluster}/n1`, `${cluster}/never-there`], systemClock);
    for (const tree of trees) assert.equal(existsSync(join(tree, cluster, "n1")), false, tree);
    assert.ok(existsSync(join(usable[0] as string, cluster, "n2")), "what belongs to others stays");
    for (const ended of ends) assert.equal((await ended)[1], "SIGKILL");
  } finally {
    await removeCgroups([`${cluster}/n2`, cluster], systemClock);
  }
  for (const tree of trees) assert.equal(existsSync(join(tree, cluster)), false, tree);
});

test("the group of the whole machine is nobody's to remove", async () => {
  for (const group of ["", "/", "/knarr/..", "."])
    await assert.rejects(removeCgroups([group], systemClock), /is the whole machine's/);
});
