import type { Clock } from "#base/clock.ts";

/** Shown on a terminal, and only for what takes longer than a second. */
export interface Progress {
  update(done: number, total: number): void;
  /** Removes what was shown. */
  end(): void;
}

interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const PATIENCE_MS = 1_000;
const REFRESH_MS = 100;

/** `what` is what is being done, as in `checking 40% (1,200 of 3,000)`. */
export function showProgress(what: string, clock: Clock, terminal: Terminal = process.stderr): Progress {
  const start = clock.elapsed();
  let shownAt = Number.NEGATIVE_INFINITY;
  let isShown = false;
  return {
    update(done, total) {
      const now = clock.elapsed();
      if (!terminal.isTTY || now - start < PATIENCE_MS || now - shownAt < REFRESH_MS) return;
      shownAt = now;
      isShown = true;
      const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
      terminal.write(`\r\x1b[K${what} ${percent}% (${done.toLocaleString("en")} of ${total.toLocaleString("en")})`);
    },
    end() {
      if (isShown) terminal.write("\r\x1b[K");
      isShown = false;
    },
  };
}
