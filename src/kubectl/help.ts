// Help texts, from what is declared of commands.
import type { AnyKubectlCommand, KubectlCommandEntry } from "./command.ts";
import type { FlagDeclaration, FlagDeclarations } from "./flags.ts";

export const commandGroups = [
  "Basic Commands (Beginner)",
  "Basic Commands (Intermediate)",
  "Deploy Commands",
  "Cluster Management Commands",
  "Troubleshooting and Debugging Commands",
  "Advanced Commands",
  "Settings Commands",
] as const;

export function rootHelp(entries: readonly KubectlCommandEntry[]): string {
  const shown = entries.filter(({ isHidden }) => !isHidden);
  const sections = [
    ...commandGroups.map((group) => [group, shown.filter((entry) => entry.group === group)] as const),
    ["Other Commands", shown.filter(({ group }) => group === undefined)] as const,
  ];
  return [
    "kubectl works with any Kubernetes cluster.",
    "",
    ...sections.flatMap(([title, members]) =>
      members.length === 0 ? [] : [`${title}:`, ...commandLines(members), ""],
    ),
    "Usage:",
    "  kubectl [flags] [options]",
    "",
    'Use "kubectl <command> --help" for more information about a given command.',
    'Use "kubectl options" for a list of global command-line options (applies to all commands).',
    "",
  ].join("\n");
}

export function commandHelp(entry: KubectlCommandEntry, command: AnyKubectlCommand, path: string): string {
  const { long, examples, subcommands = [], use } = command;
  const flags: FlagDeclarations = command.flags ?? {};
  const parent = path.slice(0, path.lastIndexOf(" "));
  const lines = [(long ?? `${entry.short}.`).trim(), ""];
  if (entry.aliases) lines.push("Aliases:", `  ${[entry.name, ...entry.aliases].join(", ")}`, "");
  if (examples) lines.push("Examples:", indented(examples), "");
  if (subcommands.length > 0) lines.push("Available Commands:", ...commandLines(subcommands), "");
  const options = optionLines(flags);
  if (options.length > 0) lines.push("Options:", ...options);
  lines.push("Usage:", `  ${parent} ${use}${options.length > 0 ? " [options]" : ""}`, "");
  if (subcommands.length > 0) lines.push(`Use "${path} <command> --help" for more information about a given command.`);
  lines.push('Use "kubectl options" for a list of global command-line options (applies to all commands).', "");
  return lines.join("\n");
}

/** Each flag with its default and, on the next line, what it is for. */
export function optionLines(flags: FlagDeclarations): readonly string[] {
  return Object.entries(flags)
    .filter(([, { isHidden }]) => !isHidden)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, flag]) => [
      `    ${flag.short === undefined ? "" : `-${flag.short}, `}--${name}=${shownDefault(flag)}:`,
      `\t${flag.help}`,
      "",
    ]);
}

function shownDefault({ type, default: usual }: FlagDeclaration): string {
  switch (type) {
    case "string":
      return `'${usual ?? ""}'`;
    case "bool":
      return String(usual ?? false);
    case "int":
      return String(usual ?? 0);
    case "duration":
      return String(usual ?? "0s");
    default:
      return `[${(Array.isArray(usual) ? usual : []).join(",")}]`;
  }
}

function commandLines(entries: readonly KubectlCommandEntry[]): readonly string[] {
  const shown = entries.filter(({ isHidden }) => !isHidden);
  const width = Math.max(...shown.map(({ name }) => name.length), 0);
  return shown.map(({ name, short }) => `  ${name.padEnd(width)}   ${short}`);
}

const indented = (text: string): string =>
  text
    .trim()
    .split("\n")
    .map((line) => (line === "" ? "" : `  ${line}`))
    .join("\n");
