// Lines between those who read and those who send. It is full at a number of bytes: then nobody reads on, and what is not read stays in
// the files of the node.
import { unlessAborted } from "#base/unless-aborted.ts";
import { type ContainerLine, sizeOfLine } from "./log-line.ts";

export interface BufferedLine<Log> {
  readonly line: ContainerLine;
  /** From where on its log is read again once it was delivered. */
  readonly resumeAt: number;
  readonly log: Log;
}

export class LineBuffer<Log> {
  readonly #maxBytes: () => number;
  #lines: BufferedLine<Log>[] = [];
  #taken = 0;
  #bytes = 0;
  #changed = Promise.withResolvers<void>();

  constructor(maxBytes: () => number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get length(): number {
    return this.#lines.length - this.#taken;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#maxBytes();
  }

  push(line: BufferedLine<Log>): void {
    this.#lines.push(line);
    this.#bytes += sizeOfLine(line.line);
    this.#tell();
  }

  /** The oldest lines: at least one if there is any, then as many as the limits allow. They count until they are released. */
  take(mostLines: number, mostBytes: number): readonly BufferedLine<Log>[] {
    const from = this.#taken;
    let bytes = 0;
    while (this.#taken < this.#lines.length && this.#taken - from < mostLines) {
      const size = sizeOfLine((this.#lines[this.#taken] as BufferedLine<Log>).line);
      if (bytes > 0 && bytes + size > mostBytes) break;
      bytes += size;
      this.#taken++;
    }
    return this.#lines.slice(from, this.#taken);
  }

  /** Forgets what was taken. */
  release(): void {
    for (const { line } of this.#lines.splice(0, this.#taken)) this.#bytes -= sizeOfLine(line);
    this.#taken = 0;
    this.#tell();
  }

  /** Resolves when something was pushed or released since the last time this was asked. */
  async changed(signal: AbortSignal): Promise<void> {
    await unlessAborted(this.#changed.promise, signal);
    this.#changed = Promise.withResolvers();
  }

  #tell(): void {
    this.#changed.resolve();
  }
}
