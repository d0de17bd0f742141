// Text in aligned columns, as Go's text/tabwriter makes them: a column is as wide as its widest cell in consecutive lines that have it.

export interface TabWriterOptions {
  readonly minWidth: number;
  readonly padding: number;
  /** A column never gets narrower than it was before, however often it is flushed: for tables that go on. */
  readonly remembersWidths?: boolean;
}

/** For tables, such as those of `get`. */
export const tableColumns: TabWriterOptions = { minWidth: 6, padding: 3, remembersWidths: true };
/** For what `describe` prints. */
export const describeColumns: TabWriterOptions = { minWidth: 0, padding: 2 };

export class TabWriter {
  readonly #write: (text: string) => unknown;
  readonly #options: TabWriterOptions;
  readonly #remembered: number[] = [];
  #pending = "";

  constructor(write: (text: string) => unknown, options: TabWriterOptions) {
    this.#write = write;
    this.#options = options;
  }

  /** Cells end with a tab, lines with a newline. Nothing is written before `flush`. */
  write(text: string): void {
    this.#pending += text;
  }

  flush(): void {
    const lines = this.#pending.split("\n").map((line) => line.split("\t"));
    this.#pending = "";
    const out: string[] = [];
    this.#format(lines, 0, lines.length, [], out);
    const text = out.join("\n");
    if (text !== "") this.#write(text);
  }

  /** Lines `from` to `to`, whose first columns have the given widths. */
  #format(lines: readonly string[][], from: number, to: number, widths: number[], out: string[]): void {
    const column = widths.length;
    const hasColumn = (line: number) => column < (lines[line]?.length ?? 0) - 1;
    let unwritten = from;
    for (let line = from; line < to; line++) {
      if (!hasColumn(line)) continue;
      for (; unwritten < line; unwritten++) out.push(joined(lines[unwritten] ?? [], widths));
      let width = this.#options.minWidth;
      for (; line < to && hasColumn(line); line++)
        width = Math.max(width, widthOf(lines[line]?.[column] ?? "") + this.#options.padding);
      if (this.#options.remembersWidths) {
        width = Math.max(width, this.#remembered[column] ?? 0);
        this.#remembered[column] = width;
      }
      widths.push(width);
      this.#format(lines, unwritten, line, widths, out);
      widths.pop();
      unwritten = line;
      line--;
    }
    for (; unwritten < to; unwritten++) out.push(joined(lines[unwritten] ?? [], widths));
  }
}

const joined = (cells: readonly string[], widths: readonly number[]): string =>
  cells
    .map((cell, i) => {
      const width = i < cells.length - 1 ? (widths[i] ?? 0) : 0;
      return cell + " ".repeat(Math.max(0, width - widthOf(cell)));
    })
    .join("");

/** In code points: what a terminal makes of them is its own affair, as in Go. */
function widthOf(text: string): number {
  let width = 0;
  for (const _ of text) width++;
  return width;
}

/** Rows as a table of the usual look. */
export function tableText(rows: readonly (readonly string[])[], options = tableColumns): string {
  let text = "";
  const writer = new TabWriter((part) => {
    text += part;
  }, options);
  for (const row of rows) writer.write(`${row.join("\t")}\n`);
  writer.flush();
  return text;
}
