// Lines of a log as container runtimes write them: `2026-01-01T00:00:00.123456789Z stdout F text`. P marks a part of a line that
// goes on in the next. What a container wrote is bytes, whatever they mean.
import type { LogEntry } from "../../server/streams.ts";

const [newline, space, partial] = [10, 32, 80];

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
  const first = line.indexOf(space);
  const second = line.indexOf(space, first + 1);
  const third = line.indexOf(space, second + 1);
  if (first < 0 || second < 0 || third < 0) return undefined;
  const time = fixedTime(ascii(line.subarray(0, first)));
  const stream = ascii(line.subarray(first + 1, second));
  if (time === undefined || (stream !== "stdout" && stream !== "stderr")) return undefined;
  // Tags are separated by colons, and this one comes first.
  const isPart = line[second + 1] === partial && (third === second + 2 || line[second + 2] === 58);
  const ends = isPart && line.at(-1) === newline ? line.length - 1 : line.length;
  return { time, bytes: line.subarray(third + 1, ends) };
}

const ascii = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");

/** A time with all nine digits of its nanoseconds, as it is shown. */
function fixedTime(text: string): string | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  return match ? `${match[1]}.${(match[2] ?? "").padEnd(9, "0")}${match[3]}` : undefined;
}
