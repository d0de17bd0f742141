// A command line with what the person prefers put into it (upstream: kubectl/pkg/kuberc/kuberc.go).
import type { AnyKubectlCommand } from "../command.ts";
import { KubectlError } from "../errors.ts";
import type { FlagDeclarations } from "../flags.ts";
import { globalFlags } from "../global-flags.ts";
import type { Io } from "../io.ts";
import { type FlagDefault, loadPreference, type Preference } from "./preference.ts";

export interface PreferredLine {
  readonly args: readonly string[];
  readonly preference: Preference | undefined;
}

/** What finds a command; rejects with KubectlError for what is none. */
export type CommandFinder = (
  args: readonly string[],
) => Promise<
  { readonly entry: { readonly name: string }; readonly command: AnyKubectlCommand; readonly path: string } | undefined
>;

/** Throws KubectlError for preferences that cannot be. */
export async function withPreferences(args: readonly string[], io: Io, find: CommandFinder): Promise<PreferredLine> {
  if (args.length === 0 || ["false", "0"].includes(io.env.KUBECTL_KUBERC ?? "")) return { args, preference: undefined };
  const preference = await loadPreference(io, kubercFlag(args));
  if (!preference) return { args, preference };
  const found = await find(args).catch(isUnknown);
  if (!found) return { args: await expanded(args, preference, find), preference };
  return { args: await defaulted(args, found, preference, io, find), preference };
}

const isUnknown = (error: unknown): undefined => {
  if (error instanceof KubectlError) return undefined; // told when the command is run
  throw error;
};

/** It is needed before flags are read. */
function kubercFlag(args: readonly string[]): string {
  for (const [i, arg] of args.entries()) {
    if (arg === "--") break;
    const value = arg === "--kuberc" ? args[i + 1] : arg.startsWith("--kuberc=") ? arg.slice(9) : undefined;
    if (arg !== "--kuberc" && value === undefined) continue;
    if (value === undefined || value === "") throw new KubectlError("kuberc file is not found");
    return value;
  }
  return "";
}

/** Defaults stand behind the words of the command, before `--`. */
async function defaulted(
  args: readonly string[],
  found: { readonly command: AnyKubectlCommand; readonly path: string },
  { defaults }: Preference,
  io: Io,
  find: CommandFinder,
): Promise<readonly string[]> {
  let result = args;
  for (const { command, options } of defaults) {
    const meant = await find(command.split(/\s+/)).catch(isUnknown);
    if (!meant) io.stderr.write(`Warning: command ${JSON.stringify(command)} not found to set kuberc override\n`);
    if (meant?.path !== found.path) continue;
    const unknown = options.find(({ name }) => !declarationOf(found.command, name));
    if (unknown) throw new KubectlError(`invalid flag ${unknown.name} for command ${command}`);
    result = inserted(result, missing(options, found.command, args));
  }
  return result;
}

async function expanded(
  args: readonly string[],
  { aliases }: Preference,
  find: CommandFinder,
): Promise<readonly string[]> {
  const at = args.findIndex((arg) => !arg.startsWith("-") && !arg.startsWith("__complete"));
  const alias = aliases.find(({ name }) => name === args[at]);
  if (!alias) return args;
  const words = alias.command.split(/\s+/).filter((word) => word !== "");
  const meant = await find(words).catch(isUnknown);
  if (!meant)
    throw new KubectlError(
      `command ${JSON.stringify(alias.command)} not found to set alias ${JSON.stringify(alias.name)}: [${words.join(" ")}]`,
    );
  const unknown = alias.options.find(({ name }) => !declarationOf(meant.command, name));
  if (unknown) throw new KubectlError(`invalid alias flag ${unknown.name} in alias ${alias.name}`);
  const rest = args.slice(at + 1);
  return [
    ...args.slice(0, at),
    ...words,
    ...alias.prependArgs,
    ...inserted(rest, missing(alias.options, meant.command, rest)),
    ...alias.appendArgs,
  ];
}

const declarationOf = (command: AnyKubectlCommand, name: string) => {
  const flags: FlagDeclarations = { ...globalFlags, ...command.flags };
  return flags[name];
};

/** Those of the defaults that the person did not say otherwise. */
function missing(
  options: readonly FlagDefault[],
  command: AnyKubectlCommand,
  args: readonly string[],
): readonly string[] {
  return options
    .filter(({ name }) => !isGiven(name, declarationOf(command, name)?.short, args))
    .map(({ name, default: value }) => `--${name}=${value}`);
}

function isGiven(name: string, short: string | undefined, args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).some(
    (arg) =>
      arg === `--${name}` ||
      arg.startsWith(`--${name}=`) ||
      (short !== undefined &&
        /^-[a-zA-Z]/.test(arg) &&
        (arg[1] === short || /^-[a-zA-Z]+$/.test(arg)) &&
        arg.includes(short)),
  );
}

function inserted(args: readonly string[], flags: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end < 0 ? [...args, ...flags] : [...args.slice(0, end), ...flags, ...args.slice(end)];
}
