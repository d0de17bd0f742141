// Works on files that a container may change at the same time, as root. A path that was checked may lead elsewhere a moment later,
// so each folder on the way is held open, its entries are named through that handle, and no link is followed.
import type { Stats } from "node:fs";
import { constants, type FileHandle, lstat, open } from "node:fs/promises";
import { hasCode } from "#base/errors.ts";

/** Linux' O_PATH, which Node does not name: a handle of the path itself, be it a link, a socket or a device, without opening it. */
const pathOnly = 0o10000000;
const pathOnlyNoFollow = pathOnly | constants.O_NOFOLLOW;

/** How deep a tree is followed: no path of the system is longer, and each level holds a handle of this process open. */
export const maxDepth = 2048;

/** A handle of the path, which may be a link. */
export const openPath = (path: string): Promise<FileHandle> => open(path, pathOnlyNoFollow);

/** The folder at a path, or undefined if there is none, or something else by now. */
export const openFolder = (path: string): Promise<FileHandle | undefined> =>
  undefinedIfGone(open(path, pathOnlyNoFollow | constants.O_DIRECTORY));

/** A path to what is held open, whatever has become of its name. */
export const pathOf = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}`;

/** A path to an entry of a folder that is held open. */
export const entryOf = (folder: FileHandle, name: string): string => `${pathOf(folder)}/${name}`;

export const statEntry = (path: string): Promise<Stats | undefined> => undefinedIfGone(lstat(path));

/** Undefined for an entry that has vanished or was replaced meanwhile. */
export async function undefinedIfGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "ELOOP")) return undefined;
    throw error;
  }
}
