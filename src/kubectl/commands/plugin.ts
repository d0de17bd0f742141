// Upstream: kubectl/pkg/cmd/plugin.
import { readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { command } from "../command.ts";
import { KubectlError } from "../errors.ts";
import { isProgram } from "../plugins.ts";

const list = command({
  use: "list [flags]",
  long: "List the programs on the PATH that are commands: those whose names begin with kubectl-.",
  flags: { "name-only": { type: "bool", help: "Only names, without folders." } },
  async run(session, _args, flags) {
    const folders = [...new Set((session.io.env.PATH ?? "").split(delimiter).filter((folder) => folder.trim() !== ""))];
    const found = folders.flatMap((folder) =>
      namesIn(folder)
        .filter((name) => name.startsWith("kubectl-"))
        .map((name) => ({ name, path: join(folder, name) })),
    );
    if (found.length === 0) throw new KubectlError("unable to find any kubectl plugins in your PATH");
    session.printError("The following compatible plugins are available:\n");
    let problems = 0;
    const seen = new Map<string, string>();
    for (const { name, path } of found) {
      session.print(flags["name-only"] ? name : path);
      const first = seen.get(name);
      const problem = !isProgram(path)
        ? `warning: ${path} identified as a kubectl plugin, but it is not executable`
        : first === undefined
          ? undefined
          : `warning: ${path} is overshadowed by a similarly named plugin: ${first}`;
      seen.set(name, first ?? path);
      if (problem === undefined) continue;
      problems++;
      session.printError(`  - ${problem}`);
    }
    if (problems > 0)
      throw new KubectlError(
        problems === 1 ? "one plugin warning was found" : `${problems} plugin warnings were found`,
      );
  },
});

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return []; // the PATH may name folders that are not there, or not for us
  }
}

export const plugin = command({
  use: "plugin [flags]",
  long: "Programs on the PATH whose names begin with kubectl- are commands.",
  subcommands: [{ name: "list", short: "List all visible plugin executables on the PATH", load: async () => list }],
});
