// The log of a cluster, read for a person.

import { closeSync, existsSync, fstatSync, openSync, readSync, watch } from "node:fs";
import { aborted } from "#base/aborted.ts";
import { parseJson } from "#schema/json.ts";

export interface LogReader {
  /** What was written since the last call, in whole lines. */
  read(): readonly string[];
  close(): void;
}

const chunkBytes = 1 << 20;

/** Reads a log from its beginning; begins anew when the file has been replaced by a shorter one. */
export function openLog(file: string): LogReader {
  const descriptor = openSync(file, "r");
  const buffer = Buffer.alloc(chunkBytes);
  const decoder = new TextDecoder();
  let position = 0;
  let rest = "";
  return {
    read() {
      if (fstatSync(descriptor).size < position) position = 0;
      for (let count = 0; ; position += count) {
        count = readSync(descriptor, buffer, 0, chunkBytes, position);
        if (count === 0) break;
        rest += decoder.decode(buffer.subarray(0, count), { stream: true });
      }
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      return lines.filter((line) => line !== "");
    },
    close: () => closeSync(descriptor),
  };
}

/** Calls `look` whenever the file may have grown, until the signal aborts. */
export async function followFile(file: string, look: () => void, signal: AbortSignal): Promise<void> {
  if (!existsSync(file)) return;
  const watcher = watch(file, look);
  look();
  await aborted(signal);
  watcher.close();
}

export interface LogEntry {
  /** Which part of the cluster it is of. */
  readonly component: string | undefined;
  readonly text: string;
}

/** One line of the log as a person reads it. What is no entry of ours, such as a crash of Node's, is shown as it is. */
export function readEntry(line: string): LogEntry {
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
