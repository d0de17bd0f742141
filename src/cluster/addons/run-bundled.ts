import { explain, UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { print, printError } from "#cli/print.ts";

/** Runs the program of an image under the name that it has there, and returns its exit code: 0 fine, 1 failed, 2 usage. */
export async function runBundled(name: string, load: () => Promise<Command>, args: readonly string[]): Promise<number> {
  try {
    const { help = "", run } = await load();
    if (args.includes("--help")) print([`Usage: ${name} [FLAGS]`, "", help].join("\n"));
    else await run(args);
    return 0;
  } catch (error) {
    printError(`${name}: ${explain(error)}`);
    return error instanceof UsageError ? 2 : 1;
  }
}
