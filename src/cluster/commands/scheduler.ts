import { UsageError } from "#base/errors.ts";
import { Scheduler } from "#scheduler/scheduler.ts";
import { aloneFlags } from "../alone/flags.ts";
import { runAlone } from "../alone/run-alone.ts";
import type { Command } from "../command.ts";
import { flagsHelp, parseFlags } from "../flags.ts";

const flags = aloneFlags("kube-scheduler", 10_259);

export const schedulerCommand: Command = {
  use: "scheduler [FLAGS]",
  help: flagsHelp(flags),
  async run(args) {
    const { flags: settings, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`scheduler takes no arguments, got ${JSON.stringify(rest[0])}`);
    await runAlone("kube-scheduler", settings, (context) => new Scheduler(context));
  },
};
