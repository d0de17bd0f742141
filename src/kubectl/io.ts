// Everything a command touches outside of itself, so that it runs the same in a test.
import type { Clock } from "#base/clock.ts";
import type { Random } from "#base/random.ts";

export interface OutputStream {
  /** Whether a person is looking. */
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  /** False if the one who reads cannot keep up; `once` then tells when it can. */
  write(data: string | Uint8Array): unknown;
  once?(event: "drain" | "close", called: () => void): unknown;
}

/** Writes, and waits for as long as the one who reads cannot keep up. */
export async function written(output: OutputStream, data: string | Uint8Array): Promise<void> {
  if (output.write(data) !== false || !output.once) return;
  await new Promise<void>((done) => {
    output.once?.("drain", done);
    output.once?.("close", done);
  });
}

export interface InputStream extends AsyncIterable<Uint8Array> {
  readonly isTTY?: boolean;
  /** Passes on each key as it is pressed; only a terminal has it. */
  setRawMode?(isRaw: boolean): unknown;
  /** Nothing more is read. */
  destroy?(): unknown;
}

export interface Io {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths begin here. */
  readonly cwd: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The person has had enough. */
  readonly signal: AbortSignal;
  /** Calls back whenever the size of the terminal changes, until the returned function is called. */
  onResize?(changed: () => void): () => void;
}

/** All of an input, as text. Throws if there is more than a manifest could be. */
export async function readAll(input: AsyncIterable<Uint8Array>, limit = 512 * 1024 * 1024): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of input) {
    size += part.length;
    if (size > limit) throw new Error(`the input has more than ${limit} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts, size);
}
