// The entries of a log as container runtimes write it, out of bytes that come in pieces.
import { parseCriLogRecord } from "#wire/cri-log.ts";
import type { LogEntry } from "../../server/streams.ts";

const newline = 10;

export class LogReader {
  /** What does not end in a newline yet. */
  #rest: Uint8Array = new Uint8Array();

  /** The entries that are whole with this. What makes no sense is passed over: a log may end anywhere when a machine does. */
  read(part: Uint8Array): LogEntry[] {
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    const entries: LogEntry[] = [];
    let from = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, from)) {
      const entry = entryOf(bytes.subarray(from, end + 1));
      if (entry) entries.push(entry);
      from = end + 1;
    }
    this.#rest = bytes.slice(from);
    return entries;
  }

  /** What is left when nothing more will come. */
  end(): LogEntry[] {
    const entry = this.#rest.length > 0 ? entryOf(this.#rest) : undefined;
    this.#rest = new Uint8Array();
    return entry ? [entry] : [];
  }
}

function entryOf(line: Uint8Array): LogEntry | undefined {
  const record = parseCriLogRecord(line);
  if (!record) return undefined;
  const { time, isPartial, textAt } = record;
  const ends = isPartial && line.at(-1) === newline ? line.length - 1 : line.length;
  return { time, bytes: line.subarray(textAt, ends) };
}
