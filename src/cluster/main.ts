// argv → command.
import { inspect } from "node:util";
import { explain, UsageError } from "#base/errors.ts";
import { aligned } from "#cli/aligned.ts";
import type { CommandEntry } from "#cli/command.ts";
import { print, printError } from "#cli/print.ts";
import { commands } from "./commands.ts";

/** Runs one command line and returns its exit code: 0 fine, 1 failed, 2 usage, more if the command says so. */
export async function main(args: readonly string[]): Promise<number> {
  const [name = "help", ...rest] = args;
  try {
    if (name === "help" || name === "--help" || name === "-h") {
      const about = commands.find((entry) => entry.name === rest[0]);
      if (!about && rest[0] !== undefined) throw unknownCommand(rest[0]);
      print(about ? await commandHelp(about) : help());
      return 0;
    }
    const entry = commands.find((candidate) => candidate.name === (name === "--version" ? "version" : name));
    if (!entry) throw unknownCommand(name);
    if (!entry.isProgram && (rest.includes("--help") || rest.includes("-h"))) {
      print(await commandHelp(entry));
      return 0;
    }
    const code = await (await entry.load()).run(rest);
    return typeof code === "number" ? code : 0;
  } catch (error) {
    printError(`knarr: ${explain(error)}`);
    if (error instanceof UsageError) {
      if (commands.some((entry) => entry.name === name)) printError(`Run "knarr ${name} --help" for what it takes.`);
      return 2;
    }
    if (process.env.KNARR_DEBUG) printError(inspect(error));
    return 1;
  }
}

function help(): string {
  const shown = commands.filter(({ isHidden }) => !isHidden);
  return [
    "Kubernetes, whole, in TypeScript.",
    "",
    "Usage: knarr COMMAND [ARGUMENTS]",
    "",
    "Commands:",
    ...aligned(shown.map(({ name, short }) => [`  ${name}`, short])),
    "",
    'Run "knarr help COMMAND" for what a command does and takes.',
  ].join("\n");
}

async function commandHelp({ short, load }: CommandEntry): Promise<string> {
  const { use, help } = await load();
  return [`Usage: knarr ${use}`, "", `${short}.`, ...(help ? ["", help] : [])].join("\n");
}

const unknownCommand = (name: string): UsageError =>
  new UsageError(`unknown command "${name}"; run "knarr help" to see them all`);
