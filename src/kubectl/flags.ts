// Flags as data, with the rules and the words of spf13/pflag (flag.go), which scripts and people know.
import { DurationError, parseDuration } from "#base/duration.ts";
import { KubectlError } from "./errors.ts";

type FlagType = "string" | "bool" | "int" | "duration" | "stringSlice" | "stringArray";

export interface FlagDeclaration {
  readonly type: FlagType;
  readonly help: string;
  /** One letter that means the same. */
  readonly short?: string;
  /** A duration is written as Go writes it. */
  readonly default?: string | number | boolean | readonly string[];
  /** What the flag means without a value: it then takes none from the next argument. */
  readonly withoutValue?: string;
  /** What to say when it is used. */
  readonly deprecated?: string;
  readonly isHidden?: boolean;
}
export type FlagDeclarations = Readonly<Record<string, FlagDeclaration>>;

type FlagValue<F extends FlagDeclaration> = F["type"] extends "bool"
  ? boolean
  : F["type"] extends "int"
    ? number
    : F["type"] extends "duration"
      ? bigint
      : F["type"] extends "stringSlice" | "stringArray"
        ? readonly string[]
        : string;

/** As in Go, a flag that was not given has its default or the zero of its type. Durations are nanoseconds. */
export type ParsedFlags<F extends FlagDeclarations> = { readonly [K in keyof F]: FlagValue<F[K]> };

export interface ParsedArguments<F extends FlagDeclarations = FlagDeclarations> {
  readonly flags: ParsedFlags<F>;
  readonly args: readonly string[];
  /** How many arguments stood before `--`; -1 if there was none. */
  readonly dash: number;
  /** The flags that were given, whatever their value. */
  readonly changed: ReadonlySet<string>;
}

/** Reads `--x=y`, `--x y`, `-x y`, `-xy` and `-abx y`. Throws KubectlError in pflag's words. */
export function parseArguments<F extends FlagDeclarations>(
  declarations: F,
  args: readonly string[],
  warn: (text: string) => void,
): ParsedArguments<F> {
  const parser = new Parser(declarations, warn);
  return parser.parse(args) as ParsedArguments<F>;
}

class Parser {
  readonly #flags: ReadonlyMap<string, FlagDeclaration>;
  readonly #shorts: ReadonlyMap<string, string>;
  readonly #warn: (text: string) => void;
  readonly #values = new Map<string, unknown>();
  readonly #changed = new Set<string>();

  constructor(declarations: FlagDeclarations, warn: (text: string) => void) {
    this.#flags = new Map(Object.entries(declarations));
    this.#shorts = new Map(
      Object.entries(declarations).flatMap(([name, { short }]) => (short === undefined ? [] : [[short, name]])),
    );
    this.#warn = warn;
    for (const [name, flag] of this.#flags) this.#values.set(name, initial(flag));
  }

  parse(args: readonly string[]): ParsedArguments {
    const rest: string[] = [];
    let dash = -1;
    for (let i = 0; i < args.length; i++) {
      const arg = args[i] as string;
      if (arg === "--") {
        dash = rest.length;
        rest.push(...args.slice(i + 1));
        break;
      }
      if (arg.startsWith("--")) i += this.#long(arg, args[i + 1]);
      else if (arg.startsWith("-") && arg !== "-") i += this.#shorthands(arg.slice(1), args[i + 1]);
      else rest.push(arg);
    }
    return { flags: Object.fromEntries(this.#values), args: rest, dash, changed: this.#changed } as ParsedArguments;
  }

  /** How many of the next arguments it took. */
  #long(arg: string, next: string | undefined): number {
    const text = arg.slice(2);
    const at = text.indexOf("=");
    const written = at < 0 ? text : text.slice(0, at);
    if (written === "" || written.startsWith("-")) throw new FlagError(`bad flag syntax: ${arg}`);
    const name = written.replaceAll("_", "-");
    const flag = this.#flags.get(name);
    if (!flag && name === "help") return this.#help(at < 0 ? "true" : text.slice(at + 1));
    if (!flag) throw new FlagError(`unknown flag: --${name}`);
    if (name !== written)
      this.#warn(`${written} is DEPRECATED and will be removed in a future version. Use ${name} instead.\n`);
    if (at >= 0) this.#set(name, flag, text.slice(at + 1));
    else if (withoutValue(flag) !== undefined) this.#set(name, flag, withoutValue(flag) as string);
    else if (next === undefined) throw new FlagError(`flag needs an argument: --${name}`);
    else {
      this.#set(name, flag, next);
      return 1;
    }
    return 0;
  }

  /** Every command has it. */
  #help(text: string): number {
    this.#set("help", { type: "bool", short: "h", help: "" }, text);
    if (this.#values.get("help") === true) throw new HelpRequest();
    return 0;
  }

  #shorthands(letters: string, next: string | undefined): number {
    for (let left = letters; left !== ""; ) {
      const letter = [...left][0] as string;
      const name = this.#shorts.get(letter);
      const flag = name === undefined ? undefined : this.#flags.get(name);
      if (name === undefined || !flag) {
        if (letter === "h") throw new HelpRequest();
        throw new FlagError(`unknown shorthand flag: '${letter}' in -${left}`);
      }
      const after = left.slice(letter.length);
      if (after.length > 1 && after.startsWith("=")) {
        this.#set(name, flag, after.slice(1));
        return 0;
      }
      const implied = withoutValue(flag);
      if (implied !== undefined) {
        this.#set(name, flag, implied);
        left = after;
        continue;
      }
      if (after !== "") {
        this.#set(name, flag, after);
        return 0;
      }
      if (next === undefined) throw new FlagError(`flag needs an argument: '${letter}' in -${left}`);
      this.#set(name, flag, next);
      return 1;
    }
    return 0;
  }

  #set(name: string, flag: FlagDeclaration, text: string): void {
    const known = this.#values.get(name);
    let value: unknown;
    try {
      value = parseValue(flag, text, this.#changed.has(name) ? known : []);
    } catch (error) {
      if (!(error instanceof KubectlError) && !(error instanceof DurationError)) throw error;
      const shown = flag.short === undefined ? `--${name}` : `-${flag.short}, --${name}`;
      throw new FlagError(`invalid argument ${JSON.stringify(text)} for "${shown}" flag: ${error.message}`);
    }
    if (!this.#changed.has(name) && flag.deprecated !== undefined)
      this.#warn(`Flag --${name} has been deprecated, ${flag.deprecated}\n`);
    this.#changed.add(name);
    this.#values.set(name, value);
  }
}

/** A mistake in a flag: the message says where help is. */
export class FlagError extends KubectlError {}
/** `--help` stood among the flags. */
export class HelpRequest extends Error {}

const withoutValue = (flag: FlagDeclaration): string | undefined =>
  flag.withoutValue ?? (flag.type === "bool" ? "true" : undefined);

function initial(flag: FlagDeclaration): unknown {
  switch (flag.type) {
    case "bool":
      return flag.default ?? false;
    case "int":
      return flag.default ?? 0;
    case "duration":
      return parseDuration(String(flag.default ?? "0s"));
    case "string":
      return flag.default ?? "";
    default:
      return flag.default ?? [];
  }
}

function parseValue(flag: FlagDeclaration, text: string, known: unknown): unknown {
  switch (flag.type) {
    case "string":
      return text;
    case "bool":
      return parseBool(text);
    case "int":
      return parseInteger(text);
    case "duration":
      return parseDuration(text);
    case "stringArray":
      return [...(known as readonly string[]), text];
    case "stringSlice":
      return [...(known as readonly string[]), ...splitCsv(text)];
  }
}

const trueTexts = ["1", "t", "T", "true", "TRUE", "True"];
const falseTexts = ["0", "f", "F", "false", "FALSE", "False"];

/** As Go's strconv reads it. Throws KubectlError. */
export function parseBool(text: string): boolean {
  if (trueTexts.includes(text)) return true;
  if (falseTexts.includes(text)) return false;
  throw new KubectlError(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`);
}

function parseInteger(text: string): number {
  const wrong = (why: string) => new KubectlError(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[1-9][0-9]*|0)$/.test(text)) throw wrong("invalid syntax");
  const [sign, digits] = /^[-+]/.test(text) ? [text[0], text.slice(1)] : ["+", text];
  const value = Number(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
  if (value > 2 ** 63) throw wrong("value out of range");
  return sign === "-" ? -value : value;
}

/** The fields of one line of CSV, as a slice flag takes them: `a,"b,c"` is two. */
export function splitCsv(text: string): readonly string[] {
  if (text === "") return [];
  if (!text.includes('"')) return text.split(",");
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^,"]*))(,|$)/y;
  for (let isLast = false; !isLast; ) {
    const match = field.exec(text);
    if (!match)
      throw new KubectlError(`parse error on line 1, column ${field.lastIndex + 1}: bare " in non-quoted-field`);
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    isLast = match[3] === "";
  }
  return fields;
}
