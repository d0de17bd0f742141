// The text of one description: lines at levels, whose tabs become columns.
import { escapeTerminal } from "../printers/printer.ts";
import { describeColumns, TabWriter } from "../tab-writer.ts";

export class DescriptionWriter {
  #text = "";
  readonly #tabs = new TabWriter((text) => {
    this.#text += text;
  }, describeColumns);
  readonly #indent: number;
  readonly #outer: Pick<DescriptionWriter, "write"> | undefined;

  /** Whoever is outside makes columns of the tabs, or keeps them. */
  constructor(outer?: Pick<DescriptionWriter, "write">, indent = 0) {
    this.#outer = outer;
    this.#indent = indent;
  }

  /** Each level is two spaces; a line may have several cells. */
  line(level: number, ...cells: readonly unknown[]): void {
    this.write(`${"  ".repeat(level + this.#indent)}${cells.join("\t")}\n`);
  }

  /** Text as it is. */
  write(text: string): void {
    if (this.#outer) this.#outer.write(text);
    else this.#tabs.write(escapeTerminal(text));
  }

  /** `Title:` and lines of values under each other; `<none>` if there are none. */
  list(title: string, values: readonly string[]): void {
    // Inside another description upstream indents the values, too.
    const inner = "  ".repeat(this.#indent);
    this.line(0, `${title}:`, `${inner}${values[0] ?? "<none>"}`);
    for (const value of values.slice(1)) this.line(0, "", `${inner}${value}`);
  }

  /** What follows has columns of its own. */
  flush(): void {
    this.#tabs.flush();
  }

  finish(): string {
    this.flush();
    return this.#text;
  }
}
