// From the bytes of a log file to whole lines. Long lines come in several records, and those of stdout and stderr may be mixed.
import { type LogStream, parseCriLogRecord } from "#wire/cri-log.ts";
import type { ContainerLine } from "./log-line.ts";
import { utcTime } from "./nanos.ts";

/** A line, and from where on a reader that has delivered it has to read again. */
export interface JoinedLine extends Omit<ContainerLine, "source"> {
  /**
   * At most `position`. It is less while the other stream has a line that is not whole yet: that begins here, and whoever reads again
   * from here passes over lines up to `position`, which it has delivered.
   */
  readonly resumeAt: number;
}

export interface LineJoinerOptions {
  /** Lines up to this position were delivered. */
  readonly delivered: number;
  /** The longest line that is kept whole, in bytes. */
  readonly maxLineBytes: number;
}

interface Unfinished {
  readonly from: number;
  readonly time: string;
  readonly pieces: Uint8Array[];
  bytes: number;
  isCut: boolean;
}

const newline = 10;
const none = new Uint8Array();
/** The head of a record is not part of the line. */
const headBytes = 256;

export class LineJoiner {
  /** Records that made no sense. */
  malformed = 0;
  readonly #options: LineJoinerOptions;
  readonly #unfinished = new Map<LogStream, Unfinished>();
  readonly #decoder = new TextDecoder();
  /** What has no newline yet, and where it begins. */
  #rest: Uint8Array = none;
  #at = 0;
  /** Inside a record that is too long to be one. */
  #isSkipping = false;

  constructor(options: LineJoinerOptions) {
    this.#options = options;
  }

  /** The lines that are whole with these bytes. */
  add(bytes: Uint8Array): readonly JoinedLine[] {
    const lines: JoinedLine[] = [];
    const all = this.#rest.length === 0 ? bytes : joined([this.#rest, bytes]);
    let from = 0;
    for (let end = all.indexOf(newline); end >= 0; end = all.indexOf(newline, from)) {
      const start = this.#at;
      this.#at += end + 1 - from;
      if (this.#isSkipping) this.#isSkipping = false;
      else {
        const line = this.#record(all.subarray(from, end), start);
        if (line && line.position > this.#options.delivered) lines.push(line);
      }
      from = end + 1;
    }
    this.#keep(all.subarray(from));
    return lines;
  }

  /** The file ends here, and the log goes on in another one. */
  endOfFile(): void {
    if (this.#rest.length > 0 && !this.#isSkipping) this.malformed++;
    this.#at += this.#rest.length;
    this.#rest = none;
    this.#isSkipping = false;
  }

  /** The position of the next byte, before any was added. */
  moveTo(position: number): void {
    this.#at = position;
  }

  /** Only so much is kept of what has no end. */
  #keep(rest: Uint8Array): void {
    const isTooLong = rest.length > this.#options.maxLineBytes + headBytes;
    if (isTooLong && !this.#isSkipping) this.malformed++;
    this.#isSkipping ||= isTooLong;
    if (this.#isSkipping) this.#at += rest.length;
    this.#rest = this.#isSkipping ? none : rest.slice();
  }

  #record(record: Uint8Array, start: number): JoinedLine | undefined {
    const head = parseCriLogRecord(record);
    const time = head && utcTime(head.time);
    if (!head || time === undefined) {
      this.malformed++;
      return undefined;
    }
    const { stream, isPartial, textAt } = head;
    const line = this.#unfinished.get(stream) ?? { from: start, time, pieces: [], bytes: 0, isCut: false };
    const room = this.#options.maxLineBytes - line.bytes;
    const text = record.subarray(textAt);
    line.pieces.push(text.slice(0, Math.max(0, room)));
    line.bytes += Math.min(text.length, Math.max(0, room));
    line.isCut ||= text.length > room;
    if (isPartial) {
      this.#unfinished.set(stream, line);
      return undefined;
    }
    this.#unfinished.delete(stream);
    const resumeAt = Math.min(this.#at, ...[...this.#unfinished.values()].map((other) => other.from));
    const whole = line.pieces.length === 1 ? (line.pieces[0] ?? none) : joined(line.pieces);
    return {
      time: line.time,
      stream,
      text: this.#decoder.decode(whole),
      isCut: line.isCut,
      position: this.#at,
      resumeAt,
    };
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
