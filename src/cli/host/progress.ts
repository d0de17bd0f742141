import type { Clock } from "#base/clock.ts";
import { clearLine, type Terminal } from "../terminal.ts";

/** Shown on a terminal, and only for what takes longer than a second. */
export interface Progress {
  update(done: number, total: number): void;
  /** Removes what was shown. */
  end(): void;
}

const patienceMs = 1_000;
const refreshMs = 100;

/** `what` is what is being done, as in `checking 40% (1,200 of 3,000)`. */
export function showProgress(what: string, clock: Clock, terminal: Terminal = process.stderr): Progress {
  const start = clock.elapsed();
  let shownAt = Number.NEGATIVE_INFINITY;
  let isShown = false;
  return {
    update(done, total) {
      const now = clock.elapsed();
      if (!terminal.isTTY || now - start < patienceMs || now - shownAt < refreshMs) return;
      shownAt = now;
      isShown = true;
      const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
      terminal.write(`${clearLine}${what} ${percent}% (${done.toLocaleString("en")} of ${total.toLocaleString("en")})`);
    },
    end() {
      if (isShown) terminal.write(clearLine);
      isShown = false;
    },
  };
}
