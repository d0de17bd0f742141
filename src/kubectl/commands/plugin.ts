// Upstream: kubectl/pkg/cmd/plugin.
import { readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { command, type KubectlCommandEntry } from "../command.ts";
import { ExitError } from "../errors.ts";
import { isProgram } from "../plugins.ts";
import type { Session } from "../session.ts";

const list = command({
  use: "list [flags]",
  long: "List the programs on the PATH that are commands: those whose names begin with kubectl-. Those that cannot be run, or never are, because a command or another program comes first, are told of.",
  examples: "# All of them\nkubectl plugin list\n\n# Only their names\nkubectl plugin list --name-only",
  flags: { "name-only": { type: "bool", help: "Only names, without folders." } },
  async run(session, _args, flags) {
    const { commands } = await import("./list.ts");
    const found = pluginsOn(session);
    if (found.length > 0) session.print("The following compatible plugins are available:\n");
    let problems = 0;
    const seen = new Map<string, string>();
    for (const { name, path } of found) {
      session.print(flags["name-only"] ? name : path);
      const first = seen.get(name);
      seen.set(name, first ?? path);
      const hidden = await hiddenBy(commands, name.split("-").slice(1), "kubectl");
      const warnings = [
        ...(isProgram(path) ? [] : [`${path} identified as a kubectl plugin, but it is not executable`]),
        ...(first === undefined ? [] : [`${path} is overshadowed by a similarly named plugin: ${first}`]),
        ...(hidden === undefined ? [] : [`${name} overwrites existing command: ${JSON.stringify(hidden)}`]),
      ];
      for (const warning of warnings) session.printError(`  - warning: ${warning}`);
      problems += warnings.length;
    }
    const errors = [
      ...(found.length === 0 ? ["error: unable to find any kubectl plugins in your PATH\n"] : []),
      ...(problems === 1 ? ["error: one plugin warning was found\n"] : []),
      ...(problems > 1 ? [`error: ${problems} plugin warnings were found\n`] : []),
    ];
    if (errors.length > 0) throw new ExitError(1, errors.join(""));
  },
});

interface FoundPlugin {
  readonly name: string;
  readonly path: string;
}

function pluginsOn(session: Session): readonly FoundPlugin[] {
  const folders = new Set((session.io.env.PATH ?? "").split(delimiter).filter((folder) => folder.trim() !== ""));
  return [...folders].flatMap((folder) => {
    try {
      return readdirSync(folder, { withFileTypes: true })
        .filter((entry) => !entry.isDirectory() && entry.name.startsWith("kubectl-"))
        .map(({ name }) => ({ name, path: join(folder, name) }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    } catch (cause) {
      const { code = "" } = cause as NodeJS.ErrnoException;
      session.printError(
        `Unable to read directory ${JSON.stringify(folder)} from your PATH: open ${folder}: ${reasons[code] ?? code}. Skipping...`,
      );
      return [];
    }
  });
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  ENOTDIR: "not a directory",
};

/** The command that is run in place of a plugin of these words; undefined if there is none. */
async function hiddenBy(
  entries: readonly KubectlCommandEntry[],
  words: readonly string[],
  parent: string,
): Promise<string | undefined> {
  const [first = "", ...rest] = words;
  const entry = entries.find(({ name, aliases }) => name === first || aliases?.includes(first));
  if (!entry) return undefined;
  const path = `${parent} ${entry.name}`;
  const { subcommands = [] } = await entry.load();
  return (await hiddenBy(subcommands, rest, path)) ?? path;
}

export const plugin = command({
  use: "plugin [flags]",
  long: "Programs on the PATH whose names begin with kubectl- are commands: kubectl-ns-all is kubectl ns all.",
  examples: "# Which there are\nkubectl plugin list",
  subcommands: [{ name: "list", short: "List all visible plugin executables on the PATH", load: async () => list }],
});
