import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { readSettings } from "../local/settings.ts";
import { startFlags, startForPerson } from "../local/start.ts";

const flags = { ...placeFlags, ...startFlags };

/** A machine that has joined the cluster of another. */
async function startJoined(
  place: ClusterFolder,
  machine: NonNullable<ReturnType<typeof joinedMachine>>,
  timeout: string,
): Promise<void> {
  if (place.process) return print(`Node ${machine.node} is running already.`);
  const { startMachine } = await import("../join/start-machine.ts");
  await startMachine(place, machine, AbortSignal.timeout(durationFlag("timeout", timeout)));
  print(`Node ${machine.node} of the cluster at ${machine.server} is ready.`);
}

export const start: Command = {
  use: "start [FLAGS]",
  help: [
    'What it had is there again; its pods are started anew. "knarr up" does the same, and may change its settings.',
    "On a machine that has joined the cluster of another, its node is started.",
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: flagValues, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`start takes no arguments; to name a cluster: --name=${rest[0]}`);
    const place = new ClusterFolder(flagValues);
    const machine = joinedMachine(place);
    if (machine) return startJoined(place, machine, flagValues.timeout);
    place.mustExist();
    const settings = readSettings(place);
    if (!settings) return;
    if (place.process) {
      print(`Cluster ${JSON.stringify(place.name)} is running already.`);
      return;
    }
    const kubeconfig = flagValues.kubeconfig ?? settings.kubeconfig;
    await startForPerson({ place, settings, flags: { ...flagValues, kubeconfig }, isNew: false });
  },
};
