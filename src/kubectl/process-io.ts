// The machine's streams, environment and clock.
import { systemClock } from "#base/clock.ts";
import { type Random, randomFrom, systemRandom } from "#base/random.ts";
import type { Io } from "./io.ts";

/** As a shell tells of a program that SIGPIPE ended. */
const brokenPipe = 141;

/** Its bytes come from the library that TLS loads anyway: to load WebCrypto for them takes as long as half of a request. */
const random: Random = randomFrom({
  next: systemRandom.next,
  bytes: (count) => process.getBuiltinModule("node:crypto").randomBytes(count),
});

/** Ctrl-C ends what is under way; a second one ends the process. */
export function processIo(): Io {
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort(new Error("interrupted")));
  // Whoever reads has read enough (`| head`): there is nothing left to do. Node puts the terminal back as it was.
  for (const output of [process.stdout, process.stderr])
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED") process.exit(brokenPipe);
    });
  return {
    // Opened when it is first read: most commands never do, and an open terminal would keep the process alive.
    get stdin() {
      return rawStdin();
    },
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    random,
    signal: interrupted.signal,
    onResize(changed) {
      process.stdout.on("resize", changed);
      return () => process.stdout.off("resize", changed);
    },
  };
}

/**
 * Node's raw mode still makes a line feed a carriage return and a line feed, which spoils the screens that programs draw: that is
 * switched off, too. When raw mode ends, Node puts everything back as it was.
 */
function rawStdin(): NodeJS.ReadStream {
  const { stdin } = process;
  if (!stdin.isTTY || Object.hasOwn(stdin, "setRawMode")) return stdin;
  const setRawMode = stdin.setRawMode.bind(stdin);
  stdin.setRawMode = (isRaw) => {
    setRawMode(isRaw);
    // Few commands come here, and all would wait for it to be loaded.
    const { spawnSync } = process.getBuiltinModule("node:child_process");
    if (isRaw) spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
    return stdin;
  };
  return stdin;
}
