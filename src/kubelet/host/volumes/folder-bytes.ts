import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { breathe } from "#base/breathe.ts";
import { hasCode } from "#base/errors.ts";

/** What a folder takes on its disk, as du counts: a file with several names counts once. What vanishes meanwhile counts nothing. */
export async function folderBytes(folder: string): Promise<number> {
  const pause = breathe();
  const counted = new Set<string>();
  let total = 0;
  const rest = [folder];
  for (let path = rest.pop(); path !== undefined; path = rest.pop()) {
    for (const name of (await ifThere(readdir(path))) ?? []) {
      const inner = join(path, name);
      const found: Stats | undefined = await ifThere(lstat(inner));
      if (!found) continue;
      if (found.isDirectory()) rest.push(inner);
      else if (found.nlink > 1) {
        const key = `${found.dev}:${found.ino}`;
        if (counted.has(key)) continue;
        counted.add(key);
      }
      total += found.blocks * 512;
      if (pause.due()) await pause.now();
    }
  }
  return total;
}

async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}
