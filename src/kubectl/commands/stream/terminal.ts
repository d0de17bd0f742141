// The terminal of the person, while something far away has it (upstream: kubectl/pkg/util/term).
import type { TerminalSize } from "#wire/streams/remote-command.ts";
import { KubectlError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import type { Session } from "../../session.ts";

export interface RemoteStreams {
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** Whether a terminal can be had; what stands in the way is said. */
export function terminalFor(session: Session, { stdin, tty }: RemoteStreams, isQuiet: boolean): RemoteStreams {
  if (!stdin) return { stdin: false, tty: false };
  if (!tty || session.io.stdin.isTTY) return { stdin, tty };
  if (!isQuiet) session.printError("Unable to use a TTY - input is not a terminal or the right kind of file");
  return { stdin, tty: false };
}

/** Each key goes to the other side while `run` runs, Ctrl-C too; then the terminal is as it was. */
export async function withRawTerminal<T>({ stdin }: Io, run: () => Promise<T>): Promise<T> {
  stdin.setRawMode?.(true);
  try {
    return await run();
  } finally {
    stdin.setRawMode?.(false);
  }
}

/**
 * The size of the terminal now, and whenever it changes. With `isRedrawn` it first seems to be larger by one, so that a program that has
 * drawn already draws again.
 */
export async function* terminalSizes(io: Io, isRedrawn = false): AsyncGenerator<TerminalSize> {
  let changed = Promise.withResolvers<void>();
  const stop = io.onResize?.(() => changed.resolve());
  const now = (): TerminalSize => ({ width: io.stdout.columns ?? 80, height: io.stdout.rows ?? 24 });
  try {
    if (isRedrawn) yield { width: now().width + 1, height: now().height + 1 };
    for (;;) {
      yield now();
      await changed.promise;
      changed = Promise.withResolvers();
    }
  } finally {
    stop?.();
  }
}

/** Of what is no terminal. */
export async function* noSizes(): AsyncGenerator<TerminalSize> {
  yield* [];
}

/** The bytes of `ctrl-p,ctrl-q` or `a,b`. Throws KubectlError. */
export function detachKeys(text: string): readonly number[] {
  const controls: Readonly<Record<string, number>> = { "@": 0, "[": 27, "\\": 28, "]": 29, "^": 30, _: 31 };
  return text.split(",").map((key) => {
    if (/^[\x20-\x7e]$/.test(key)) return key.charCodeAt(0);
    const held = /^ctrl-(.)$/.exec(key)?.[1] ?? "";
    const code = /^[a-z]$/.test(held) ? held.charCodeAt(0) - 96 : controls[held];
    if (code === undefined) throw new KubectlError(`could not bind detach keys: Unknown character: '${key}'`);
    return code;
  });
}

/** What is typed until the keys are, in a row; then `detached` is told, and it ends. */
export async function* untilDetached(
  input: AsyncIterable<Uint8Array>,
  keys: readonly number[],
  detached: () => void,
): AsyncGenerator<Uint8Array> {
  let seen = 0;
  for await (const part of input) {
    const passed: number[] = [];
    for (const byte of part) {
      if (byte === keys[seen]) {
        seen++;
        if (seen === keys.length) {
          if (passed.length > 0) yield Uint8Array.from(passed);
          return detached();
        }
        continue;
      }
      // What looked like the beginning of the keys was none.
      passed.push(...keys.slice(0, seen));
      seen = byte === keys[0] ? 1 : 0;
      if (seen === 0) passed.push(byte);
    }
    if (passed.length > 0) yield Uint8Array.from(passed);
  }
}
