import type { Clock } from "#base/clock.ts";
import { clearLine, type Terminal } from "../terminal.ts";

/** Tells a person how far something has come: a line for each step that is done, and, on a terminal, what is being done now. */
export interface Steps {
  begin(text: string): void;
  done(text: string): void;
  /** Removes what was begun, for other words to follow. */
  end(): void;
}

export function showSteps(clock: Clock, terminal: Terminal = process.stdout): Steps {
  const start = clock.elapsed();
  const clear = () => {
    if (terminal.isTTY) terminal.write(clearLine);
  };
  return {
    begin(text) {
      clear();
      if (terminal.isTTY) terminal.write(`… ${text}`);
    },
    done(text) {
      clear();
      const mark = terminal.isTTY ? "\x1b[32m✓\x1b[0m " : "";
      terminal.write(`${mark}${text} (${((clock.elapsed() - start) / 1000).toFixed(2)} s)\n`);
    },
    end: clear,
  };
}
