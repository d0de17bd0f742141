// The log of a container as files: the one that grows, and older parts of it beside it. `0.log`, `0.log.20260101-000000.gz`, …
import { createReadStream, createWriteStream } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { hasCode } from "#base/errors.ts";

const compressed = ".gz";
const unfinished = ".tmp";

/** Older parts, the oldest first. */
async function rotatedParts(path: string): Promise<readonly string[]> {
  try {
    const prefix = `${basename(path)}.`;
    const names = await readdir(dirname(path));
    return names
      .filter((name) => name.startsWith(prefix))
      .sort()
      .map((name) => join(dirname(path), name));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** Removes a log with all its parts. */
export async function removeLog(path: string): Promise<void> {
  for (const part of [path, ...(await rotatedParts(path))]) await rm(part, { force: true });
}

export interface Rotation {
  /** How many files of a log there may be, the one that grows included. */
  readonly files: number;
  /** When, in milliseconds since 1970. */
  readonly now: number;
  /** Tells the runtime to begin a new file. */
  reopen(): Promise<void>;
}

/** Moves the log away, compresses what was moved before, and removes what is too old. */
export async function rotateLog(path: string, { files, now, reopen }: Rotation): Promise<void> {
  const found = await rotatedParts(path);
  const parts = found.filter((part) => !part.endsWith(unfinished));
  for (const part of found) if (part.endsWith(unfinished)) await rm(part, { force: true });
  const doubled = parts.filter((part) => parts.includes(part + compressed)); // compressed by a kubelet that ended just then
  for (const part of doubled) await rm(part, { force: true });
  const left = parts.filter((part) => !doubled.includes(part));
  // Besides the one that grows and the one that is about to be moved.
  const excess = Math.max(0, left.length - Math.max(0, files - 2));
  for (const part of left.slice(0, excess)) await rm(part, { force: true });
  for (const part of left.slice(excess)) if (!part.endsWith(compressed)) await compress(part);
  const moved = `${path}.${stampOf(now)}`;
  await rename(path, moved);
  try {
    await reopen();
  } catch (error) {
    await rename(moved, path); // the runtime goes on writing to it
    throw error;
  }
}

/** `20260101-235959`. */
const stampOf = (now: number): string => {
  const [date = "", time = ""] = new Date(now).toISOString().split("T");
  return `${date.replaceAll("-", "")}-${time.slice(0, 8).replaceAll(":", "")}`;
};

async function compress(path: string): Promise<void> {
  const made = path + compressed + unfinished;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(made, { mode: 0o640 }));
  await rename(made, path + compressed);
  await rm(path);
}
