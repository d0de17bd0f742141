import type { Stats } from "node:fs";
import { chmod, chown, type FileHandle, lchown, readdir } from "node:fs/promises";
import type { Pod } from "#api/core/v1/pod.ts";
import { entryOf, maxDepth, openPath, pathOf, statEntry, undefinedIfGone } from "./path-handles.ts";

const setgid = 0o2000;
/** As chown takes it: the owner stays. */
const sameOwner = -1;

/** Gives all files of a volume to the pod's fsGroup, if it has one, as upstream's pkg/volume/volume_linux.go does. */
export async function giveToGroup(path: string, { spec }: Pod, access: "ro" | "rw"): Promise<void> {
  const { fsGroup, fsGroupChangePolicy } = spec.securityContext ?? {};
  if (fsGroup === undefined) return;
  const rights = access === "rw" ? 0o660 : 0o440;
  const root = await openPath(path);
  try {
    if (fsGroupChangePolicy === "OnRootMismatch") {
      const { gid, mode } = await root.stat();
      const wanted = rights | 0o110 | setgid;
      if (gid === fsGroup && (mode & wanted) === wanted) return;
    }
    await give(root, { group: fsGroup, rights }, 1);
  } finally {
    await root.close();
  }
}

interface Access {
  readonly group: number;
  readonly rights: number;
}

const modeFor = ({ rights }: Access, found: Stats): number =>
  (found.mode | rights | (found.isDirectory() ? setgid | 0o110 : 0)) & 0o7777;

const isGiven = (access: Access, found: Stats): boolean =>
  found.gid === access.group && (found.isSymbolicLink() || modeFor(access, found) === (found.mode & 0o7777));

/** Gives an open file or folder, which is no link, to the group, with all that is in it. */
async function give(handle: FileHandle, access: Access, level: number): Promise<void> {
  const stats = await handle.stat();
  if (!isGiven(access, stats)) {
    await chown(pathOf(handle), sameOwner, access.group);
    await chmod(pathOf(handle), modeFor(access, stats));
  }
  if (!stats.isDirectory()) return;
  if (level >= maxDepth) throw new Error(`folders of the volume are nested deeper than ${maxDepth} levels`);
  for (const name of await readdir(pathOf(handle))) await giveEntry(entryOf(handle, name), access, level + 1);
}

/** The group of a link is changed, but the link is not followed. Entries that vanish meanwhile are skipped. */
async function giveEntry(path: string, access: Access, level: number): Promise<void> {
  const seen = await statEntry(path);
  if (!seen || (isGiven(access, seen) && !seen.isDirectory())) return;
  const handle = await undefinedIfGone(openPath(path));
  if (!handle) return;
  try {
    // The entry may have been replaced since it was looked at: only the open handle counts.
    if ((await handle.stat()).isSymbolicLink()) await undefinedIfGone(lchown(path, sameOwner, access.group));
    else await give(handle, access, level);
  } finally {
    await handle.close();
  }
}
