// Lines of a log as container runtimes write them: `2026-01-01T00:00:00.123456789Z stdout F text`. P marks a part of a line that
// goes on in the next.
import type { LogLine } from "../../server/streams.ts";

export class LogReader {
  readonly #decoder = new TextDecoder();
  /** What does not end in a newline yet. */
  #rest = "";
  /** The parts of lines so far, by stream. */
  readonly #parts = new Map<string, string>();

  /** The lines that are whole with this. What makes no sense is passed over: a log may end anywhere when a machine does. */
  read(part: Uint8Array): LogLine[] {
    const text = this.#rest + this.#decoder.decode(part, { stream: true });
    const lines = text.split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): LogLine[] {
    const match = /^(\S+) (stdout|stderr) ([^ ]+) ?(.*)$/s.exec(line);
    const at = Date.parse(match?.[1] ?? "");
    if (!match || Number.isNaN(at)) return [];
    const [, , stream = "", tags = "", text = ""] = match;
    const whole = (this.#parts.get(stream) ?? "") + text;
    if (tags.split(":")[0] === "P") {
      this.#parts.set(stream, whole);
      return [];
    }
    this.#parts.delete(stream);
    return [{ at, text: whole }];
  }
}
