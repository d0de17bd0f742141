// A full disk must not be a trap: making room needs a little room, too. So a small file is kept that can be given up.
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { dirname } from "node:path";

export const reserveBytes = 4 << 20;

export class DiskReserve {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** Of the disk that it is on; without end where that does not tell, or where the folder is gone from under us. */
  get freeBytes(): number {
    const folder = dirname(this.#file);
    if (!existsSync(folder)) return Number.POSITIVE_INFINITY;
    const { bavail, blocks, bsize } = statfsSync(folder);
    return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
  }

  get isKept(): boolean {
    return existsSync(this.#file);
  }

  /** Makes it, unless it is there or there is little room. */
  keep(): void {
    if (this.isKept || this.freeBytes < 4 * reserveBytes) return;
    const file = openSync(this.#file, "w", 0o600);
    try {
      // Written, not just made long: blocks that were never written are not there when they are needed.
      const block = new Uint8Array(1 << 20);
      for (let written = 0; written < reserveBytes; written += block.length) writeSync(file, block);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  /** Gives it up. Says whether there was one. */
  release(): boolean {
    const wasThere = this.isKept;
    rmSync(this.#file, { force: true });
    return wasThere;
  }
}
