import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog } from "#base/log.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { apiserverFlags } from "../alone/apiserver-flags.ts";
import { runApiServer } from "../alone/run-apiserver.ts";

export const apiserver: Command = {
  use: "apiserver [FLAGS]",
  help: flagsHelp(apiserverFlags),
  async run(args) {
    const { flags: settings, rest } = parseFlags(apiserverFlags, args);
    if (rest.length > 0) throw new UsageError(`apiserver takes no arguments, got ${JSON.stringify(rest[0])}`);
    const log = createLog({ clock: systemClock, level: settings.v >= 2 ? "debug" : "info", write: writeToStderr });
    const stop = new AbortController();
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Error(`got ${name}`)));
    await runApiServer(settings, log, stop.signal);
  },
};
