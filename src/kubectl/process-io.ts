// The machine's streams, environment and clock.
import { systemClock } from "#base/clock.ts";
import { systemRandom } from "#base/random.ts";
import type { Io } from "./io.ts";

/** Ctrl-C ends what is under way; a second one ends the process. */
export function processIo(): Io {
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort(new Error("interrupted")));
  return {
    // Opened when it is first read: most commands never do, and an open terminal would keep the process alive.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    random: systemRandom,
    signal: interrupted.signal,
    onResize(changed) {
      process.stdout.on("resize", changed);
      return () => process.stdout.off("resize", changed);
    },
  };
}
