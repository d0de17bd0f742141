import { writeSync } from "node:fs";

const harmless: ReadonlySet<unknown> = new Set(["EAGAIN", "EPIPE", "ENOSPC", "EDQUOT"]);

/** Writes a line to standard error at once, so that the last words before a crash are not lost in a buffer. */
export const writeToStderr = (line: string): void => {
  try {
    writeSync(2, `${line}\n`);
  } catch (error) {
    // A full pipe or disk, or a reader that went away, must not stop the cluster; everything else must be seen.
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (!harmless.has(code)) throw error;
  }
};
