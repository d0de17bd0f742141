// argv → command of kubectl (upstream: spf13/cobra, command.go).
import type { AnyKubectlCommand, KubectlCommandEntry } from "./command.ts";
import { commands } from "./commands/list.ts";
import { ExitError, KubectlError, reportOf } from "./errors.ts";
import { type FlagDeclarations, FlagError, HelpRequest, parseArguments } from "./flags.ts";
import { type GlobalFlags, globalFlags } from "./global-flags.ts";
import { commandHelp, rootHelp } from "./help.ts";
import type { Io } from "./io.ts";
import { withPreferences } from "./kuberc/apply.ts";
import type { PluginPolicy } from "./kuberc/preference.ts";
import { Session } from "./session.ts";

/**
 * Runs one command line and returns its exit code. Whatever goes wrong is told on the standard error. Additions are commands that a
 * kubectl for any server does not have.
 */
export async function kubectl(
  args: readonly string[],
  io: Io,
  additions: readonly KubectlCommandEntry[] = [],
): Promise<number> {
  try {
    const all = additions.length === 0 ? commands : [...commands, ...additions];
    const find = (words: readonly string[]) => findCommand(words, all);
    const { args: line, preference } = await withPreferences(args, io, find);
    const [first] = line;
    if (first === "__complete" || first === "__completeNoDesc") {
      const { complete } = await import("./completion/complete.ts");
      const root = { commands: all, find };
      return await complete(line.slice(1), io, root, first === "__complete");
    }
    const found = await commandOrPlugin(line, io, find);
    if (typeof found === "number") return found;
    if (!found) {
      io.stdout.write(rootHelp(all));
      return 0;
    }
    return await runCommand(found, io, preference?.pluginPolicy);
  } catch (error) {
    if (io.signal.aborted && error === io.signal.reason) return 130;
    const { text, exitCode } = reportOf(error);
    io.stderr.write(text);
    if (io.env.KNARR_DEBUG && error instanceof Error) io.stderr.write(`${error.stack}\n`);
    return exitCode;
  }
}

async function commandOrPlugin(
  args: readonly string[],
  io: Io,
  find: (args: readonly string[]) => Promise<FoundCommand | undefined>,
): Promise<FoundCommand | number | undefined> {
  try {
    const found = await find(args);
    return (found && (await subcommandPlugin(found, args, io))) ?? found;
  } catch (error) {
    if (!(error instanceof UnknownCommand)) throw error;
    const code = await (await import("./plugins.ts")).runPlugin(args, io);
    if (code === undefined) throw error;
    return code;
  }
}

/** A plugin may add to `create`, and to no other command. */
async function subcommandPlugin(found: FoundCommand, args: readonly string[], io: Io): Promise<number | undefined> {
  const [first, second] = args;
  if (found.path !== "kubectl create" || first !== "create" || second === undefined || second.startsWith("-"))
    return undefined;
  return (await import("./plugins.ts")).runPlugin(args, io, 2);
}

class UnknownCommand extends KubectlError {}

export interface FoundCommand {
  readonly entry: KubectlCommandEntry;
  readonly command: AnyKubectlCommand;
  /** As it is typed: `kubectl create configmap`. */
  readonly path: string;
  readonly args: readonly string[];
}

async function runCommand(
  { command, path, entry, args }: FoundCommand,
  io: Io,
  pluginPolicy: PluginPolicy | undefined,
): Promise<number> {
  const flags: FlagDeclarations = { ...globalFlags, ...command.flags };
  let parsed: ReturnType<typeof parseArguments>;
  try {
    parsed = command.takesAnyFlag
      ? { ...parseArguments(flags, [], () => undefined), args }
      : parseArguments(flags, args, (text) => io.stderr.write(text));
  } catch (error) {
    if (error instanceof HelpRequest) {
      io.stdout.write(commandHelp(entry, command, path));
      return 0;
    }
    if (error instanceof FlagError && command.flagErrorCode !== undefined)
      throw new ExitError(command.flagErrorCode, `error: ${error.message}\nSee '${path} -h' for help and examples\n`);
    if (error instanceof FlagError) throw new KubectlError(`${error.message}\nSee '${path} --help' for usage.`);
    throw error;
  }
  if (!command.run) return refuseOrHelp(entry, command, path, parsed.args, io);
  const session = new Session(io, globalsOf(parsed.flags, command), parsed.changed, path, pluginPolicy);
  try {
    const { globals } = session;
    const perform = async () => command.run?.(session, parsed.args, parsed.flags, { ...parsed, commandPath: path });
    const code =
      globals.profile === "none"
        ? await perform()
        : await (await import("./profile.ts")).withProfile(globals.profile, globals["profile-output"], io, perform);
    const { warningCount } = session;
    if (session.globals["warnings-as-errors"] && warningCount > 0)
      throw new KubectlError(`${warningCount} warning${warningCount === 1 ? "" : "s"} received`);
    return typeof code === "number" ? code : 0;
  } finally {
    await session.close();
  }
}

/** A command may have a flag of its own of a name that all have: `create rolebinding --user`. */
function globalsOf(flags: object, { flags: own = {} }: AnyKubectlCommand): GlobalFlags {
  const shadowed = Object.keys(own).filter((name) => Object.hasOwn(globalFlags, name));
  const { flags: usual } = parseArguments(globalFlags, [], () => undefined);
  const values = Object.fromEntries(shadowed.map((name) => [name, usual[name as keyof GlobalFlags]]));
  return { ...flags, ...values } as GlobalFlags;
}

/** A command that is only a heading for others. */
function refuseOrHelp(
  entry: KubectlCommandEntry,
  command: AnyKubectlCommand,
  path: string,
  args: readonly string[],
  io: Io,
): number {
  const [unknown] = args;
  if (unknown !== undefined)
    throw new KubectlError(`unknown command ${JSON.stringify(args.join(" "))}\nSee '${path} -h' for help and examples`);
  (entry.name === "rollout" ? io.stdout : io.stderr).write(commandHelp(entry, command, path));
  return 1;
}

/** Undefined if there is no command but help of all. Throws KubectlError for a name that no command has. */
export async function findCommand(
  args: readonly string[],
  known: readonly KubectlCommandEntry[] = commands,
): Promise<FoundCommand | undefined> {
  const first = nextWord(args, 0);
  if (first === undefined) {
    checkGlobals(args);
    return undefined;
  }
  const name = args[first] as string;
  if (name === "help") return helpRequest(args.toSpliced(first, 1), known);
  const entry = named(known, name);
  if (!entry) throw unknownCommand(name, known);
  return descend(entry, await entry.load(), "kubectl", args.toSpliced(first, 1));
}

/** Flags without a command must be right, too. */
function checkGlobals(args: readonly string[]): void {
  try {
    parseArguments(globalFlags, args, () => undefined);
  } catch (error) {
    if (error instanceof FlagError) throw new KubectlError(`${error.message}\nSee 'kubectl --help' for usage.`);
    if (!(error instanceof HelpRequest)) throw error;
  }
}

async function descend(
  entry: KubectlCommandEntry,
  command: AnyKubectlCommand,
  parent: string,
  args: readonly string[],
): Promise<FoundCommand> {
  const path = `${parent} ${entry.name}`;
  const next = command.takesAnyFlag ? undefined : nextWord(args, 0, command);
  const child = next === undefined ? undefined : named(command.subcommands ?? [], args[next] as string);
  if (next === undefined || !child) return { entry, command, path, args };
  return descend(child, await child.load(), path, args.toSpliced(next, 1));
}

const helpRequest = async (
  args: readonly string[],
  known: readonly KubectlCommandEntry[],
): Promise<FoundCommand | undefined> => {
  const found = await findCommand(args, known);
  return found && { ...found, args: ["--help"] };
};

const named = (entries: readonly KubectlCommandEntry[], name: string): KubectlCommandEntry | undefined =>
  entries.find((entry) => entry.name === name || entry.aliases?.includes(name));

/** Where the first word is that is no flag and no flag's value; undefined if there is none before `--`. */
function nextWord(args: readonly string[], from: number, command?: AnyKubectlCommand): number | undefined {
  const flags: FlagDeclarations = { ...globalFlags, ...command?.flags };
  for (let i = from; i < args.length; i++) {
    const arg = args[i] as string;
    if (arg === "--") return undefined;
    if (!arg.startsWith("-") || arg === "-") return i;
    const flag = arg.startsWith("--")
      ? flags[arg.slice(2)]
      : arg.length === 2
        ? Object.values(flags).find(({ short }) => short === arg[1])
        : { type: "bool" };
    if (!arg.includes("=") && flag && flag.type !== "bool" && !("withoutValue" in flag)) i++;
  }
  return undefined;
}

/** Suggests what is near, as cobra does: two letters off, or the beginning of a name. */
function unknownCommand(name: string, entries: readonly KubectlCommandEntry[]): UnknownCommand {
  const near = entries
    .filter((entry) => !entry.isHidden)
    .map((entry) => entry.name)
    .filter((known) => edits(name.toLowerCase(), known) <= 2 || known.startsWith(name.toLowerCase()))
    .toSorted();
  const suggestions = near.length === 0 ? "" : `\n\nDid you mean this?\n${near.map((one) => `\t${one}\n`).join("")}`;
  return new UnknownCommand(`unknown command ${JSON.stringify(name)} for "kubectl"${suggestions}`);
}

/** How many letters have to be put in, left out or changed to make one of the other. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++)
      next.push(Math.min((row[j] ?? 0) + (letter === to[j] ? 0 : 1), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    row = next;
  }
  return row[to.length] ?? 0;
}
