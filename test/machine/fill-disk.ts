import { closeSync, openSync, writeSync } from "node:fs";

/** Writes a file until not a byte is left on its disk. */
export function fillDisk(path: string): void {
  const file = openSync(path, "w");
  try {
    for (const block of [new Uint8Array(2 ** 16), new Uint8Array(1)])
      for (let isFull = false; !isFull; )
        try {
          writeSync(file, block);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
          isFull = true;
        }
  } finally {
    closeSync(file);
  }
}
