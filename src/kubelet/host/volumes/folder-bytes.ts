import { type FileHandle, readdir } from "node:fs/promises";
import { entryOf, maxDepth, openFolder, pathOf, statEntry } from "./path-handles.ts";

/** What a folder takes on its disk, as du counts: a file with several names counts once. What vanishes meanwhile counts nothing. */
export async function folderBytes(path: string): Promise<number> {
  const folder = await openFolder(path);
  if (!folder) return 0;
  try {
    return await bytesBelow(folder, new Set(), 1);
  } finally {
    await folder.close();
  }
}

/** `counted` holds the files with several names. What is nested too deep for any path is not counted, as upstream cannot count it either. */
async function bytesBelow(folder: FileHandle, counted: Set<string>, level: number): Promise<number> {
  let total = 0;
  for (const name of await readdir(pathOf(folder))) {
    const path = entryOf(folder, name);
    const entry = await statEntry(path);
    if (!entry) continue;
    if (entry.isDirectory()) {
      const inner = level < maxDepth ? await openFolder(path) : undefined;
      try {
        if (inner) total += await bytesBelow(inner, counted, level + 1);
      } finally {
        await inner?.close();
      }
    } else if (entry.nlink > 1) {
      const key = `${entry.dev}:${entry.ino}`;
      if (counted.has(key)) continue;
      counted.add(key);
    }
    total += entry.blocks * 512;
  }
  return total;
}
