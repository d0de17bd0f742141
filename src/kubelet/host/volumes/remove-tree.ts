import { type FileHandle, readdir, rename, rmdir, unlink } from "node:fs/promises";
import { hasCode } from "#base/errors.ts";
import { entryOf, openFolder, pathOf, statEntry, undefinedIfGone } from "./path-handles.ts";

/** Folders below this level are moved to the top before they are emptied, so that no nesting takes more handles than these. */
const maxHandles = 64;

/**
 * Removes a folder of the kubelet's with all that containers have left in it. Node's own `rm` works by paths: it would follow a link that
 * takes the place of a folder in between, and give up on folders that are nested deeper than a path can be long.
 */
export async function removeTree(path: string): Promise<void> {
  const found = await statEntry(path);
  if (!found) return;
  if (!found.isDirectory()) return void (await undefinedIfGone(unlink(path)));
  const root = await openFolder(path);
  if (!root) throw new Error(`${path} was replaced while it was removed`);
  try {
    while ((await new TreeRemoval(root).run()) > 0);
  } finally {
    await root.close();
  }
  await undefinedIfGone(rmdir(path));
}

class TreeRemoval {
  readonly #root: FileHandle;
  #moved = 0;

  constructor(root: FileHandle) {
    this.#root = root;
  }

  /** Returns how many folders were moved to the top, and are still to be removed. */
  async run(): Promise<number> {
    await this.#empty(this.#root, 1);
    return this.#moved;
  }

  async #empty(folder: FileHandle, level: number): Promise<void> {
    for (const entry of await readdir(pathOf(folder), { withFileTypes: true })) {
      const path = entryOf(folder, entry.name);
      if (!entry.isDirectory()) await undefinedIfGone(unlink(path));
      else if (level < maxHandles) await this.#removeFolder(path, level + 1);
      else await this.#moveUp(path);
    }
  }

  async #removeFolder(path: string, level: number): Promise<void> {
    const folder = await openFolder(path);
    if (!folder) return;
    try {
      await this.#empty(folder, level);
    } finally {
      await folder.close();
    }
    await undefinedIfGone(rmdir(path));
  }

  async #moveUp(path: string): Promise<void> {
    for (let suffix = 0; ; suffix++)
      try {
        await rename(path, entryOf(this.#root, `..moved-${this.#moved}-${suffix}`));
        this.#moved++;
        return;
      } catch (error) {
        if (hasCode(error, "ENOENT")) return;
        if (!hasCode(error, "ENOTEMPTY", "EEXIST", "ENOTDIR")) throw error; // else the name is taken
      }
  }
}
