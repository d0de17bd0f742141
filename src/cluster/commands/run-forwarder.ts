import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { serveForwarding } from "#proxy/host/forwarder-process.ts";

/** A process that `knarr up --proxy-mode userspace` starts in the network of each node. */
export const runForwarderCommand: Command = {
  use: "run-forwarder",
  help: "Carries connections for services; started by knarr itself.",
  async run() {
    if (!process.send) throw new UsageError("run-forwarder is started by knarr itself");
    await serveForwarding(systemClock);
  },
};
