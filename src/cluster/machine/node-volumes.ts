// Volumes that are folders of the nodes of this machine.
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { NodeStorage } from "#controllers/local-storage/node-storage.ts";
import { removeTree } from "#kubelet/host/volumes/remove-tree.ts";

/** `folderOf` is where the volumes of a node are. */
export function nodeVolumes(folderOf: (node: string) => string, isReachable: (node: string) => boolean): NodeStorage {
  const pathOf = (node: string, volume: string) => join(folderOf(node), volume);
  return {
    isReachable,
    async make(node, volume) {
      const path = pathOf(node, volume);
      await mkdir(path, { recursive: true });
      await chmod(path, 0o777); // containers of any user write there, whatever this process's umask
      return { path, isLimited: false };
    },
    resize: async () => undefined, // nothing holds it to its size
    remove: (node, volume) => removeTree(pathOf(node, volume)),
  };
}
