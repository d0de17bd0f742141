// Reads the files that flags of the server name: YAML or JSON with a kind. Problems are gathered, so that a person sees all of them at
// once, in upstream's words.
import { DurationError, parseDuration } from "#base/duration.ts";
import { DecodeError } from "#schema/json.ts";
import { parseYaml } from "#wire/yaml/read.ts";

export type ConfigFields = Readonly<Record<string, unknown>>;

/** The value in a file. Throws an Error where it is no YAML. */
export function parseConfig(text: string): unknown {
  try {
    return parseYaml(text).value;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new Error(`failed decoding: ${error.message}`);
  }
}

export interface ConfigReaderOptions {
  /** Called with unknown fields; without it they are problems. */
  readonly unknown?: (text: string) => void;
  /** How a field that is not known is named in messages; defaults to its name. */
  readonly nameOf?: (field: string) => string;
}

/** A value of another type than it must be is thrown at once: what follows from it would only confuse. */
export class ConfigReader {
  readonly #unknown: (text: string) => void;
  readonly #nameOf: (field: string) => string;
  readonly #problems: string[] = [];

  constructor({ unknown = (text) => this.#problems.push(text), nameOf = (field) => field }: ConfigReaderOptions = {}) {
    this.#unknown = unknown;
    this.#nameOf = nameOf;
  }

  /** Throws an Error that names all problems, if there are any. */
  refuseProblems(): void {
    if (this.#problems.length > 0) throw new Error(this.#problems.join(", "));
  }

  problem(at: string, why: string): void {
    this.#problems.push(`${at}: ${why}`);
  }

  invalid(at: string, value: unknown, why: string): void {
    this.problem(at, `Invalid value: ${JSON.stringify(value)}: ${why}`);
  }

  required(at: string, why = ""): void {
    this.problem(at, `Required value${why && `: ${why}`}`);
  }

  fields(value: unknown, at: string, known: readonly string[]): ConfigFields {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new Error(`${at || "the file"}: must be an object`);
    for (const field of Object.keys(value))
      if (!known.includes(field))
        this.#unknown(`unknown field ${JSON.stringify(`${at === "" ? "" : `${at}.`}${this.#nameOf(field)}`)}`);
    return value as ConfigFields;
  }

  /** The fields of what may be left out. */
  optional(value: unknown, at: string, known: readonly string[]): ConfigFields | undefined {
    return value === undefined || value === null ? undefined : this.fields(value, at, known);
  }

  list(value: unknown, at: string): readonly unknown[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw new Error(`${at}: must be a list`);
    return value;
  }

  texts(value: unknown, at: string): readonly string[] {
    return this.list(value, at).map((one, i) => this.text(one, `${at}[${i}]`));
  }

  /** Empty where there is none. */
  text(value: unknown, at: string): string {
    if (value === undefined || value === null) return "";
    if (typeof value !== "string") throw new Error(`${at}: must be a string`);
    return value;
  }

  boolean(value: unknown, at: string): boolean | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "boolean") throw new Error(`${at}: must be true or false`);
    return value;
  }

  integer(value: unknown, at: string): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "number" || !Number.isInteger(value)) throw new Error(`${at}: must be a whole number`);
    return value;
  }

  /** Milliseconds. */
  duration(value: unknown, at: string): number | undefined {
    const text = this.text(value, at);
    if (text === "") return undefined;
    try {
      return Number(parseDuration(text)) / 1e6;
    } catch (error) {
      if (!(error instanceof DurationError)) throw error;
      throw new Error(`${at}: ${error.message}`);
    }
  }

  /** Returns the first allowed value if the value is not allowed. */
  oneOf<const T extends string>(allowed: readonly [T, ...T[]], value: unknown, at: string): T {
    const text = this.text(value, at);
    const found = allowed.find((one) => one === text);
    if (found !== undefined) return found;
    if (text === "") this.required(at);
    else {
      const names = allowed.map((one) => `"${one}"`).join(", ");
      this.problem(at, `Unsupported value: ${JSON.stringify(text)}: supported values: ${names}`);
    }
    return allowed[0];
  }
}
