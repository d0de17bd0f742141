import { readFile, rename, writeFile } from "node:fs/promises";
import { hasCode } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import { type Checkpoint, type Checkpoints, formatCheckpoints, parseCheckpoints } from "../checkpoints.ts";

/** What there is; a new epoch without checkpoints if there is nothing, or nothing that can be read. */
export async function loadCheckpoints(path: string, random: Random): Promise<Checkpoints> {
  let text = "";
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
  return parseCheckpoints(text) ?? { epoch: random.uuid(), logs: new Map<string, Checkpoint>() };
}

/** Whoever reads the file sees the old one or the new one, whole. */
export async function saveCheckpoints(path: string, checkpoints: Checkpoints): Promise<void> {
  const fresh = `${path}.tmp`;
  await writeFile(fresh, formatCheckpoints(checkpoints), { mode: 0o600 });
  await rename(fresh, path);
}
