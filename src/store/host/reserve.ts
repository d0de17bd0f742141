// A full disk must not be a trap: deleting needs a little room, too. So a small file is kept that can be given up.
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";

const RESERVE_BYTES = 4 << 20;
/** So much must be free before puts are taken again: the reserve, and something to write into. */
const ENOUGH_BYTES = 2 * RESERVE_BYTES;
/** How often a full disk is looked at while someone wants to write. */
const LOOK_MS = 500;

export class Reserve {
  readonly #folder: string;
  readonly #file: string;
  readonly #clock: Clock;
  #alarm: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#file = join(folder, "store.reserve");
    this.#clock = clock;
    if (!existsSync(this.#file)) this.#fill();
  }

  /** Why nothing more may be put, in a sentence. */
  get alarm(): string | undefined {
    return this.#alarm;
  }

  /** The disk is full: gives up the reserve. Says whether there was one. */
  release(why: string): boolean {
    const wasThere = existsSync(this.#file);
    this.#alarm = why;
    this.#lookedAt = this.#clock.elapsed();
    rmSync(this.#file, { force: true });
    return wasThere;
  }

  /** Ends the alarm if there is room again. */
  look(): void {
    const now = this.#clock.elapsed();
    if (this.#alarm === undefined || now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    const { bavail, bsize } = statfsSync(this.#folder);
    if (bavail * bsize < ENOUGH_BYTES) return;
    this.#alarm = undefined;
    this.#fill();
  }

  /** Written, not just made long: blocks that were never written are not there when they are needed. */
  #fill(): void {
    const { bavail, bsize } = statfsSync(this.#folder);
    if (bavail * bsize < 2 * ENOUGH_BYTES) return;
    const file = openSync(this.#file, "w", 0o600);
    try {
      const block = new Uint8Array(1 << 20);
      for (let written = 0; written < RESERVE_BYTES; written += block.length) writeSync(file, block);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}
