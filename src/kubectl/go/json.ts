// JSON as Go's encoding/json writes it: keys sorted by their bytes, and what could end a script in a page escaped.
import { compareText } from "./value.ts";

/** On one line, or indented by this for each level. */
export function goJson(value: unknown, indent = ""): string {
  return new Writer(indent).value(value, "");
}

class Writer {
  readonly #indent: string;

  constructor(indent: string) {
    this.#indent = indent;
  }

  value(value: unknown, margin: string): string {
    if (Array.isArray(value))
      return this.#enclosed(
        "[",
        value.map((item) => (inner) => this.value(item, inner)),
        "]",
        margin,
      );
    if (typeof value === "object" && value !== null)
      return this.#map(value as Readonly<Record<string, unknown>>, margin);
    if (typeof value === "string") return quoted(value);
    if (typeof value === "bigint") return String(value);
    // Go has no -0 among integers.
    if (typeof value === "number") return Object.is(value, -0) ? "0" : JSON.stringify(value);
    return value === undefined ? "null" : String(value);
  }

  #map(map: Readonly<Record<string, unknown>>, margin: string): string {
    const colon = this.#indent === "" ? ":" : ": ";
    const entries = Object.keys(map)
      .filter((key) => map[key] !== undefined)
      .sort(compareText)
      .map((key) => (inner: string) => `${quoted(key)}${colon}${this.value(map[key], inner)}`);
    return this.#enclosed("{", entries, "}", margin);
  }

  #enclosed(open: string, items: readonly ((margin: string) => string)[], close: string, margin: string): string {
    if (items.length === 0) return open + close;
    if (this.#indent === "") return `${open}${items.map((item) => item("")).join(",")}${close}`;
    const inner = margin + this.#indent;
    return `${open}\n${items.map((item) => inner + item(inner)).join(",\n")}\n${margin}${close}`;
  }
}

const unsafe = /[<>&\u2028\u2029]/g;

const quoted = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replace(
    unsafe,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
