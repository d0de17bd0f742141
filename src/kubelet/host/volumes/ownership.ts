import { chmod, lchown, lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "#api/core/v1/pod.ts";

const setgid = 0o2000;

/** Lets the pod's fsGroup read a volume, or write it, all the way down; nothing for a pod without. */
export async function giveToGroup(path: string, { spec }: Pod, access: "ro" | "rw"): Promise<void> {
  const { fsGroup, fsGroupChangePolicy } = spec.securityContext ?? {};
  if (fsGroup === undefined) return;
  const rights = access === "rw" ? 0o660 : 0o440;
  if (fsGroupChangePolicy === "OnRootMismatch") {
    const { gid, mode } = await lstat(path);
    const wanted = rights | 0o110 | setgid;
    if (gid === fsGroup && (mode & wanted) === wanted) return;
  }
  await give(path, fsGroup, rights);
}

/** Links are given, but not followed. What vanishes meanwhile needs nothing any more. */
async function give(path: string, group: number, rights: number): Promise<void> {
  const found = await lstat(path);
  if (found.gid !== group) await lchown(path, found.uid, group);
  if (found.isSymbolicLink()) return;
  const wanted = found.mode | rights | (found.isDirectory() ? setgid | 0o110 : 0);
  if (wanted !== found.mode) await chmod(path, wanted & 0o7777);
  if (found.isDirectory()) for (const name of await readdir(path)) await give(join(path, name), group, rights);
}
