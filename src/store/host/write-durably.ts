import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** Writes a small file so that after a crash it is there as a whole or not at all. */
export function writeDurably(path: string, text: string): void {
  const draft = `${path}.new`;
  const file = openSync(draft, "w", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  syncFolder(dirname(path));
}

/** Makes renames in a folder durable. */
export const syncFolder = (folder: string): void => syncFile(folder);

/** Makes what was written to a file durable. */
export function syncFile(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
