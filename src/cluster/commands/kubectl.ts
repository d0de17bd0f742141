import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import type { KubectlCommandEntry } from "#kubectl/command.ts";
import { ExitError } from "#kubectl/errors.ts";
import { kubectl as runKubectl } from "#kubectl/main.ts";
import { processIo } from "#kubectl/process-io.ts";

export const kubectl: Command = {
  use: "kubectl COMMAND [ARGUMENTS]",
  run: (args) => runKubectl(args, processIo(), knarrCommands),
};

const group = "Troubleshooting and Debugging Commands";

/** What only a Knarr can tell: they are commands of ours, and a kubectl alone does not have them. */
const knarrCommands: readonly KubectlCommandEntry[] = [
  {
    name: "trace",
    short: "Show the writes that led to an object and followed from it; of a Knarr",
    group,
    load: async () => asKubectl(async () => (await import("./trace.ts")).trace),
  },
  {
    name: "why",
    short: "Say why an object is in the state it is in, and what helps; of a Knarr",
    group,
    load: async () => asKubectl(async () => (await import("./why.ts")).why),
  },
];

/** The command takes its flags itself: those that say which cluster are the same in both. */
async function asKubectl(load: () => Promise<Command>): Promise<Awaited<ReturnType<KubectlCommandEntry["load"]>>> {
  const { use, help = "", run } = await load();
  const text = help.replaceAll("  knarr ", "  kubectl ");
  return {
    use,
    long: text,
    takesAnyFlag: true,
    run: async (session, args) => {
      if (args.includes("--help") || args.includes("-h")) return session.print(text);
      try {
        return await run(args);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        throw new ExitError(2, `error: ${error.message}`, { cause: error });
      }
    },
  };
}
