import { readFileSync } from "node:fs";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { CountReload } from "./reload-counter.ts";

export interface ReloadOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the looking. */
  readonly signal: AbortSignal;
  /** Told of each time that a file has changed. */
  readonly counted?: CountReload | undefined;
}

/** As often as upstream looks. */
export const reloadMs = 60_000;

/**
 * What a file says, read again when it has changed. The first reading must succeed; later, what cannot be read is told in the log and what
 * was read last goes on to count.
 */
export class ReloadedFile<T> {
  #value: T;

  private constructor(value: T) {
    this.#value = value;
  }

  /** `read` throws for a text that it cannot use. Throws what it throws, the first time. */
  static open<T>(path: string, read: (text: string) => T, options: ReloadOptions): ReloadedFile<T> {
    const { clock, log, signal, counted } = options;
    let text = readFileSync(path, "utf8");
    const file = new ReloadedFile(read(text));
    const look = (): void => {
      if (signal.aborted) return;
      try {
        const now = readFileSync(path, "utf8");
        if (now !== text) {
          text = now;
          file.#value = read(now);
          counted?.("success");
          log.info("a file was read again", { path });
        }
      } catch (error) {
        counted?.("failure");
        log.error("a file cannot be read again; what it said before goes on to count", { path, error });
      }
      cancel = clock.after(reloadMs, look);
    };
    let cancel = clock.after(reloadMs, look);
    signal.addEventListener("abort", () => cancel(), { once: true });
    return file;
  }

  get value(): T {
    return this.#value;
  }
}
