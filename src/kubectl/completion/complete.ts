// What a shell is told when a person presses Tab, in the form in which shells ask cobra's programs (upstream: spf13/cobra, completions.go):
// a candidate on each line, with its description behind a tab, then a colon and what to do with them.
import type { AnyKubectlCommand, KubectlCommandEntry } from "../command.ts";
import { KubectlError } from "../errors.ts";
import { type FlagDeclaration, type FlagDeclarations, parseArguments } from "../flags.ts";
import { type GlobalFlags, globalFlags } from "../global-flags.ts";
import type { Io } from "../io.ts";
import { Session } from "../session.ts";
import { type Candidates, candidatesFor, configNames, containerNamesOf, names } from "./candidates.ts";
import { subjects } from "./subjects.ts";

/** What the shell is to do, as bits. */
const noSpace = 2;
const noFiles = 4;

export interface CompletionRoot {
  readonly commands: readonly KubectlCommandEntry[];
  find(args: readonly string[]): Promise<
    | {
        readonly command: AnyKubectlCommand;
        readonly path: string;
        readonly args: readonly string[];
      }
    | undefined
  >;
}

interface Completion {
  readonly lines: readonly string[];
  readonly directive: number;
}

/** Prints the candidates for the last of the words. What goes wrong is no candidate, and not told: a person is typing. */
export async function complete(
  args: readonly string[],
  io: Io,
  root: CompletionRoot,
  isDescribed: boolean,
): Promise<number> {
  const typed = args.at(-1) ?? "";
  const before = args.slice(0, -1);
  let found: Completion;
  try {
    found = await completions(before, typed, io, root);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    found = { lines: [], directive: noFiles };
  }
  for (const line of found.lines) io.stdout.write(`${isDescribed ? line : line.split("\t", 1)[0]}\n`);
  io.stdout.write(`:${found.directive}\n`);
  io.stderr.write(`Completion ended with directive: ${directiveNames(found.directive)}\n`);
  return 0;
}

function directiveNames(directive: number): string {
  const found = [
    ...(directive & noSpace ? ["ShellCompDirectiveNoSpace"] : []),
    ...(directive & noFiles ? ["ShellCompDirectiveNoFileComp"] : []),
  ];
  return found.length === 0 ? "ShellCompDirectiveDefault" : found.join(", ");
}

async function completions(
  before: readonly string[],
  typed: string,
  io: Io,
  root: CompletionRoot,
): Promise<Completion> {
  const found = await root.find(before).catch((error: unknown) => {
    if (error instanceof KubectlError && before.length > 0) throw error;
    return undefined;
  });
  const flags: FlagDeclarations = { ...globalFlags, ...found?.command.flags };
  const afterDash = before.includes("--");
  const awaited = afterDash ? undefined : flagAwaiting(flags, before.at(-1));
  const equals = typed.startsWith("--") && !afterDash ? typed.indexOf("=") : -1;
  const inside = equals > 0 ? flagNamed(flags, typed.slice(2, equals)) : undefined;
  const session = sessionFor(flags, awaited ? before.slice(0, -1) : before, found, io);
  try {
    if (inside) return await flagValues(session, inside, typed.slice(equals + 1), found, typed.slice(0, equals + 1));
    if (awaited) return await flagValues(session, awaited, typed, found);
    if (typed.startsWith("-") && !afterDash) return { lines: flagLines(flags, typed, before), directive: noFiles };
    if (!found) return { lines: commandLines(root.commands, typed), directive: noFiles };
    const { subcommands } = found.command;
    const words = argumentsOf(flags, found.args);
    if (subcommands && words.length === 0) return { lines: commandLines(subcommands, typed), directive: noFiles };
    if (afterDash) return { lines: [], directive: 0 };
    return shown(await candidatesOf(session, found, words, typed), typed);
  } finally {
    await session.close();
  }
}

async function candidatesOf(
  session: Session,
  { command, path }: { readonly command: AnyKubectlCommand; readonly path: string },
  words: readonly string[],
  typed: string,
): Promise<Candidates> {
  if (command.complete) return { words: await command.complete(session, words, typed) };
  const subject = subjects[path.replace(/^kubectl /, "")];
  return subject ? candidatesFor(session, subject, words, typed) : { words: [] };
}

const shown = ({ words, isOpen = false, hasFiles = false }: Candidates, typed: string, prefix = ""): Completion => ({
  lines: words.filter((word) => word.startsWith(typed)).map((word) => `${prefix}${word}`),
  directive: (isOpen ? noSpace : 0) | (hasFiles ? 0 : noFiles),
});

const commandLines = (entries: readonly KubectlCommandEntry[], typed: string): readonly string[] =>
  entries
    .filter(({ isHidden, name }) => !isHidden && name.startsWith(typed))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, short }) => `${name}\t${short}`);

/** One letter only where one was begun: there are few, and they say little. */
function flagLines(flags: FlagDeclarations, typed: string, before: readonly string[]): readonly string[] {
  const isRepeated = (name: string, { type, short }: FlagDeclaration) =>
    !type.startsWith("string") || type === "string"
      ? before.some((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`) || arg === `-${short}`)
      : false;
  return Object.entries({ ...flags, help: { type: "bool", short: "h", help: "Show help." } as FlagDeclaration })
    .filter(([name, flag]) => !flag.isHidden && !isRepeated(name, flag))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, { short, help }]) => [
      ...(`--${name}`.startsWith(typed) ? [`--${name}\t${help}`] : []),
      ...(short !== undefined && typed === "-" ? [`-${short}\t${help}`] : []),
    ]);
}

interface NamedFlag {
  readonly name: string;
  readonly flag: FlagDeclaration;
}

function flagNamed(flags: FlagDeclarations, name: string): NamedFlag | undefined {
  const flag = flags[name];
  return flag && { name, flag };
}

/** The flag whose value comes next. */
function flagAwaiting(flags: FlagDeclarations, arg: string | undefined): NamedFlag | undefined {
  if (arg === undefined || !arg.startsWith("-") || arg.includes("=") || arg === "-") return undefined;
  const name = arg.startsWith("--")
    ? arg.slice(2)
    : Object.entries(flags).find(([, { short }]) => short === arg.at(-1))?.[0];
  const found = name === undefined ? undefined : flagNamed(flags, name);
  return found && found.flag.type !== "bool" && found.flag.withoutValue === undefined ? found : undefined;
}

const fileFlags = [
  "certificate-authority",
  "client-certificate",
  "client-key",
  "filename",
  "kubeconfig",
  "kuberc",
  "kustomize",
  "cache-dir",
  "patch-file",
  "custom",
  "www",
  "from-file",
  "from-env-file",
  "profile-output",
  "output-directory",
  "unix-socket",
];
const words: Readonly<Record<string, readonly string[]>> = {
  cascade: ["background", "foreground", "orphan"],
  "dry-run": ["client", "none", "server"],
  output: [
    "custom-columns",
    "custom-columns-file",
    "go-template",
    "go-template-file",
    "json",
    "jsonpath",
    "jsonpath-as-json",
    "jsonpath-file",
    "kyaml",
    "name",
    "wide",
    "yaml",
  ],
  validate: ["ignore", "strict", "warn"],
  restart: ["Always", "Never", "OnFailure"],
  "sort-by": [],
};

async function flagValues(
  session: Session,
  { name, flag }: NamedFlag,
  typed: string,
  found: { readonly path: string; readonly args: readonly string[]; readonly command: AnyKubectlCommand } | undefined,
  prefix = "",
): Promise<Completion> {
  if (fileFlags.includes(name)) return { lines: [], directive: 0 };
  const known = await valuesOf(session, name, flag, found);
  return shown({ words: known }, typed, prefix);
}

async function valuesOf(
  session: Session,
  name: string,
  { type }: FlagDeclaration,
  found: { readonly path: string; readonly args: readonly string[]; readonly command: AnyKubectlCommand } | undefined,
): Promise<readonly string[]> {
  switch (name) {
    case "namespace":
      return names(session, "namespaces");
    case "context":
      return configNames(session, "contexts");
    case "cluster":
      return configNames(session, "clusters");
    case "user":
      return type === "string" ? configNames(session, "users") : [];
    case "container": {
      const [pod] = found ? argumentsOf({ ...globalFlags, ...found.command.flags }, found.args) : [];
      return pod === undefined ? [] : containerNamesOf(session, pod.replace(/^pods?\//, ""));
    }
    case "profile":
      return found?.path === "kubectl debug"
        ? ["baseline", "general", "netadmin", "restricted", "sysadmin"]
        : ["block", "cpu", "goroutine", "heap", "mutex", "none", "threadcreate"];
    default:
      return words[name] ?? [];
  }
}

/** What is typed so far may be wrong in places: flags that make no sense are passed over. */
function argumentsOf(flags: FlagDeclarations, args: readonly string[]): readonly string[] {
  try {
    return parseArguments(flags, withoutAwaiting(flags, args), () => undefined).args;
  } catch {
    return args.filter((arg) => !arg.startsWith("-"));
  }
}

const withoutAwaiting = (flags: FlagDeclarations, args: readonly string[]): readonly string[] =>
  flagAwaiting(flags, args.at(-1)) ? args.slice(0, -1) : args;

function sessionFor(
  flags: FlagDeclarations,
  before: readonly string[],
  found: { readonly args: readonly string[]; readonly path: string } | undefined,
  io: Io,
): Session {
  const quiet: Io = { ...io, stdin: io.stdin, stderr: { write: () => true } };
  const given = found?.args ?? before;
  let globals: GlobalFlags;
  try {
    globals = parseArguments(flags, withoutAwaiting(flags, given), () => undefined).flags as unknown as GlobalFlags;
  } catch {
    globals = parseArguments(globalFlags, [], () => undefined).flags;
  }
  return new Session(quiet, globals, new Set(), found?.path ?? "kubectl");
}
