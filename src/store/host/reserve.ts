// Deleting needs a little room, which is kept for it; while that is given up, nothing is put.
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { DiskReserve, reserveBytes } from "#base/host/disk-reserve.ts";

/** So much must be free before puts are taken again: the reserve, what is left free beside it, and something to write into. */
const enoughBytes = 4 * reserveBytes;
/** How often a full disk is looked at while someone wants to write. */
const lookMs = 500;

export class Reserve {
  readonly #disk: DiskReserve;
  readonly #clock: Clock;
  #alarm: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(folder: string, clock: Clock) {
    this.#disk = new DiskReserve(join(folder, "store.reserve"));
    this.#clock = clock;
    this.#disk.keep();
  }

  /** Why nothing more may be put, in a sentence. */
  get alarm(): string | undefined {
    return this.#alarm;
  }

  /** What the disk has left, and whether there is still something to give up. */
  room(): { readonly freeBytes: number; readonly hasReserve: boolean } {
    const { freeBytes } = this.#disk;
    return { freeBytes, hasReserve: freeBytes < enoughBytes && this.#disk.isKept };
  }

  /** The disk is full: gives up the reserve. Says whether there was one. */
  release(why: string): boolean {
    this.#alarm = why;
    this.#lookedAt = this.#clock.elapsed();
    return this.#disk.release();
  }

  /** Ends the alarm if there is room again. */
  look(): void {
    const now = this.#clock.elapsed();
    if (this.#alarm === undefined || now - this.#lookedAt < lookMs) return;
    this.#lookedAt = now;
    if (this.#disk.freeBytes < enoughBytes) return;
    this.#alarm = undefined;
    this.#disk.keep();
  }
}
