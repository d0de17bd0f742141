// The log of a cluster, read for a person.

import { closeSync, existsSync, fstatSync, openSync, readSync, watch } from "node:fs";
import { aborted } from "#base/aborted.ts";
import { hasCode } from "#base/errors.ts";
import { parseJson } from "#schema/json.ts";
import { copyOf, keptCopies } from "../log-rotation.ts";

export interface ClusterLogReader {
  /** What was written since the last call, in whole lines, also if it is in a copy by now; at first what is in the log itself. */
  read(): readonly string[];
  /** What is in the copies from before that, newest copy first. */
  past(): Iterable<readonly string[]>;
}

/** Reads a log that is copied and emptied from time to time. */
export function openLog(file: string): ClusterLogReader {
  const lines = new Lines();
  let at = beginning(file);
  return {
    read() {
      for (;;) {
        if (wasEmptied(file, at)) {
          for (const rest of sinceEmptied(file, at)) lines.add(rest);
          at = beginning(file);
        }
        const added = contents(file, at.position);
        if (wasEmptied(file, at)) continue; // meanwhile: this may be of another place in it
        const head = at.position === 0 ? added.subarray(0, headBytes) : at.head;
        at = { ...at, head, position: at.position + added.length };
        lines.add(added);
        return lines.take();
      }
    },
    *past() {
      const ages = Array.from({ length: keptCopies }, (_, i) => i + 1);
      const read = ages.findIndex((age) => isReached(copyOf(file, age), at));
      for (const age of ages.slice(at.head.length > 0 ? read + 1 : Math.max(0, read))) {
        const older = new Lines();
        older.add(contents(copyOf(file, age)));
        yield older.take();
      }
    },
  };
}

/** How far a log was read. */
interface Mark {
  /** How the log begins, and how its newest copy did: entries begin with a time, so no two logs begin alike. */
  readonly head: Buffer;
  readonly before: Buffer;
  readonly position: number;
}

const headBytes = 256;
const headOf = (file: string): Buffer => contents(file, 0, headBytes);

const beginning = (file: string): Mark => ({ before: headOf(copyOf(file, 1)), head: headOf(file), position: 0 });

/** Whether a copy is of the log that was read, or, if nothing of it was, of the one before it. */
const isReached = (copy: string, { head, before }: Mark): boolean =>
  head.length > 0 ? headOf(copy).subarray(0, head.length).equals(head) : headOf(copy).equals(before);

const wasEmptied = (file: string, at: Mark): boolean =>
  at.head.length > 0 ? !isReached(file, at) : !isReached(copyOf(file, 1), at);

/** What followed in the log until it was emptied last; all there is if that is no longer kept. */
function sinceEmptied(file: string, at: Mark): readonly Buffer[] {
  const found: Buffer[] = [];
  for (let age = 1; age <= keptCopies; age++) {
    const copy = copyOf(file, age);
    if (isReached(copy, at)) return at.head.length > 0 ? [contents(copy, at.position), ...found] : found;
    found.unshift(contents(copy));
  }
  return found;
}

/** Nothing if there is no such file. */
function contents(file: string, from = 0, most = Number.POSITIVE_INFINITY): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return Buffer.alloc(0);
    throw error;
  }
  try {
    const buffer = Buffer.alloc(Math.max(0, Math.min(fstatSync(descriptor).size - from, most)));
    return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, from));
  } finally {
    closeSync(descriptor);
  }
}

/** Whole lines of what comes in pieces. */
class Lines {
  readonly #decoder = new TextDecoder();
  #text = "";

  add(bytes: Uint8Array): void {
    this.#text += this.#decoder.decode(bytes, { stream: true });
  }

  take(): readonly string[] {
    const lines = this.#text.split("\n");
    this.#text = lines.pop() ?? "";
    return lines.filter((line) => line !== "");
  }
}

/** Calls `look` whenever the file may have grown, until the signal aborts. */
export async function followFile(file: string, look: () => void, signal: AbortSignal): Promise<void> {
  if (!existsSync(file)) return;
  const watcher = watch(file, look);
  look();
  await aborted(signal);
  watcher.close();
}

export interface LogLine {
  /** Which part of the cluster it is of. */
  readonly component: string | undefined;
  readonly text: string;
}

/** One line of the log as a person reads it. What is no entry of ours, such as a crash of Node's, is shown as it is. */
export function readEntry(line: string): LogLine {
  let entry: unknown;
  try {
    entry = parseJson(line).value;
  } catch {
    return { component: undefined, text: line };
  }
  if (typeof entry !== "object" || entry === null || !("message" in entry)) return { component: undefined, text: line };
  const { time, level, message, component, ...fields } = entry as Readonly<Record<string, unknown>>;
  const part = typeof component === "string" ? component : undefined;
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  const text = [time, String(level).toUpperCase().padEnd(5), part ?? "-", message, ...rest].join(" ");
  return { component: part, text };
}

function shown(value: unknown): string {
  if (typeof value === "object" && value !== null && "message" in value) {
    const { message, cause } = value as { readonly message: unknown; readonly cause?: unknown };
    return JSON.stringify(cause === undefined ? String(message) : `${message}: ${causeText(cause)}`);
  }
  return typeof value === "string" && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
}

const causeText = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "message" in cause ? String(cause.message) : String(cause);
