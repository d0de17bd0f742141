// Reads the log file of a container, from any line on, and follows it across rotations.
import { watch } from "node:fs";
import { constants, type FileHandle, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/errors.ts";
import type { LogEntry, LogQuery } from "../../server/streams.ts";
import { LogReader } from "./log-lines.ts";

/** How long to wait for a change of the file before it is read again, and its container is checked. */
const quietMs = 1000;
const partBytes = 64 * 1024;

export interface LogFile {
  readonly path: string;
  /** Whether more may be written. */
  readonly isRunning: () => Promise<boolean>;
  readonly clock: Clock;
}

/** What was written so far and, if it is followed, what is written until the container ends. */
export async function* readLog(
  { path, isRunning, clock }: LogFile,
  { follow, tailLines }: LogQuery,
  signal: AbortSignal,
): AsyncGenerator<readonly LogEntry[]> {
  const reader = new LogReader();
  let file = await openIfThere(path);
  let at = file && tailLines !== undefined ? await tailStart(file, tailLines) : 0;
  try {
    if (!follow) {
      // Up to where it ends now: one that is written faster than it is read would never end.
      if (file) for await (const { bytes } of parts(file, at, (await file.stat()).size)) yield reader.read(bytes);
      return yield reader.end();
    }
    using changes = new Changes(dirname(path), clock, signal);
    let hasEnded = !(await isRunning());
    for (;;) {
      const next = await successor(path, file);
      // Also when it has been replaced: it may have been written to until then.
      if (file)
        for await (const { bytes, end } of parts(file, at, Number.POSITIVE_INFINITY)) {
          at = end;
          yield reader.read(bytes);
        }
      if (next) {
        yield reader.end();
        await file?.close();
        file = next;
        at = 0;
        continue;
      }
      if (hasEnded || signal.aborted) return yield reader.end();
      if (!(await changes.next())) hasEnded = !(await isRunning());
    }
  } finally {
    await file?.close();
  }
}

/** Waits for changes of a folder. */
class Changes implements Disposable {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #stop: () => void;
  #hasChanged = false;
  #wake: () => void = () => undefined;

  constructor(folder: string, clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    const changed = () => {
      this.#hasChanged = true;
      this.#wake();
    };
    signal.addEventListener("abort", changed);
    const stopWatching = watching(folder, changed);
    this.#stop = () => {
      stopWatching();
      signal.removeEventListener("abort", changed);
    };
  }

  /** Whether there was a change since it was last asked; waits a while for one. */
  async next(): Promise<boolean> {
    if (!this.#hasChanged && !this.#signal.aborted)
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(quietMs, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    return hasChanged;
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}

/** Without a watch (the system limits their number), the file is polled. */
function watching(folder: string, changed: () => void): () => void {
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    watcher.on("error", () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => undefined;
  }
}

async function* parts(file: FileHandle, from: number, to: number): AsyncGenerator<{ bytes: Uint8Array; end: number }> {
  let at = from;
  while (at < to) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(partBytes), 0, Math.min(partBytes, to - at), at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield { bytes: buffer.subarray(0, bytesRead), end: at };
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW); // the runtime makes files, never links
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** The file that has taken the place of this one. */
async function successor(path: string, file: FileHandle | undefined): Promise<FileHandle | undefined> {
  if (!file) return openIfThere(path);
  try {
    const [there, mine] = await Promise.all([stat(path), file.stat()]);
    return there.ino === mine.ino && there.dev === mine.dev ? undefined : await openIfThere(path);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined; // between two files
    throw error;
  }
}

/** Where the last `count` lines begin; one without its newline is not counted. */
async function tailStart(file: FileHandle, count: number): Promise<number> {
  const { size } = await file.stat();
  let newlines = 0;
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - partBytes);
    const { buffer } = await file.read(Buffer.alloc(end - from), 0, end - from, from);
    for (let at = buffer.lastIndexOf(10); at >= 0; at = at === 0 ? -1 : buffer.lastIndexOf(10, at - 1)) {
      if (newlines === count) return from + at + 1;
      newlines++;
    }
    end = from;
  }
  return 0;
}
