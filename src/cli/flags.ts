// Flags as data: the parser, the help text and the type of the result all follow from one object.
import { UsageError } from "#base/errors.ts";
import { distance } from "#base/near.ts";
import { aligned } from "./aligned.ts";

interface FlagOf<T extends "string" | "int" | "bool" | "strings" | "repeated"> {
  readonly type: T;
  readonly help: string;
  /** What stands in the help for the value. */
  readonly value?: string;
  /** One letter that means the same. */
  readonly short?: string;
}
export type Flag = FlagOf<"string"> | FlagOf<"int"> | FlagOf<"bool"> | FlagOf<"strings"> | FlagOf<"repeated">;
export type Flags = Readonly<Record<string, Flag & { readonly default?: string | number | boolean }>>;

type ValueOf<F> = F extends { type: "int" }
  ? number
  : F extends { type: "bool" }
    ? boolean
    : F extends { type: "strings" | "repeated" }
      ? readonly string[]
      : string;
/** A flag with a default is always there, a list at least empty. */
export type FlagValues<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends { default: unknown } | { type: "strings" | "repeated" }
    ? ValueOf<F[K]>
    : ValueOf<F[K]> | undefined;
};

/**
 * Reads `--name=value`, `--name value`, `--switch` and the short forms of those that have one (`-o json`, `-ojson`); what is no flag
 * is left over. Throws UsageError that names the flag.
 */
export function parseFlags<const F extends Flags>(
  flags: F,
  args: readonly string[],
): { readonly flags: FlagValues<F>; readonly rest: readonly string[] } {
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(flags)) {
    if (isList(flag)) values[name] = [];
    else if (flag.default !== undefined) values[name] = flag.default;
  }
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (arg === "--") {
      rest.push(...args.slice(i + 1));
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      rest.push(arg);
      continue;
    }
    const { name, flag, value } = arg.startsWith("--") ? longFlag(flags, arg) : shortFlag(flags, arg);
    let text = value;
    if (text === undefined && flag.type !== "bool") {
      text = args[++i];
      if (text === undefined) throw new UsageError(`--${name} needs a value`);
    }
    const parsed = parseValue(name, flag, text);
    if (isList(flag)) (values[name] as string[]).push(...(parsed as string[]));
    else values[name] = parsed;
  }
  return { flags: values as FlagValues<F>, rest };
}

/** One of type `repeated` may have commas in its items: it is given once for each. */
const isList = ({ type }: Flag): boolean => type === "strings" || type === "repeated";

interface FlagMatch {
  readonly name: string;
  readonly flag: Flag;
  readonly value: string | undefined;
}

function longFlag(flags: Flags, arg: string): FlagMatch {
  const [name = "", ...value] = arg.slice(2).split("=");
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (!flag) {
    const near = Object.keys(flags).find((known) => distance(known, name) <= 1);
    throw new UsageError(`unknown flag --${name}${near === undefined ? "" : `; did you mean --${near}?`}`);
  }
  return { name, flag, value: value.length > 0 ? value.join("=") : undefined };
}

function shortFlag(flags: Flags, arg: string): FlagMatch {
  const [, letter = "", value = ""] = /^-(.)=?(.*)$/su.exec(arg) ?? [];
  const [name, flag] = Object.entries(flags).find(([, { short }]) => short === letter) ?? [];
  if (name === undefined || !flag || (flag.type === "bool" && value !== ""))
    throw new UsageError(`unknown flag ${arg}`);
  return { name, flag, value: value === "" ? undefined : value };
}

function parseValue(name: string, { type }: Flag, text: string | undefined): unknown {
  switch (type) {
    case "bool":
      if (text !== undefined && !["true", "false"].includes(text))
        throw new UsageError(`--${name} is true or false, not ${JSON.stringify(text)}`);
      return text !== "false";
    case "int":
      if (!/^-?\d+$/.test(text ?? "")) throw new UsageError(`--${name} is a whole number, not ${JSON.stringify(text)}`);
      return Number(text);
    case "strings":
      return (text ?? "").split(",").filter((part) => part !== "");
    case "repeated":
      return [text ?? ""];
    case "string":
      return text;
  }
}

export function flagsHelp(flags: Flags): string {
  const left = (name: string, { type, value, short }: Flag) =>
    `${short === undefined ? "" : `-${short}, `}--${name}${type === "bool" ? "" : `=${value ?? type.toUpperCase()}`}`;
  const rows = Object.entries(flags).map(([name, flag]) => {
    const usual = flag.default === undefined || flag.default === false ? "" : ` (default ${flag.default})`;
    return [`  ${left(name, flag)}`, `${flag.help}${usual}`] as const;
  });
  return ["Flags:", ...aligned(rows)].join("\n");
}

/** The values of flags as text, as upstream shows them; those that are not set are empty. */
export const flagTexts = (values: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      Array.isArray(value) ? `[${value.join(",")}]` : String(value ?? ""),
    ]),
  );
