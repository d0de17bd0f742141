import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print, printError } from "#cli/print.ts";
import { leaveCluster } from "../join/leave.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";

export const leaveCommand: Command = {
  use: "leave [FLAGS]",
  help: [
    "Ends all that runs on this machine for the cluster that it has joined, tells the cluster, and removes all that is left of it here.",
    'To have pods move in good order before, run "knarr node drain NODE" where the cluster is.',
    "",
    flagsHelp(placeFlags),
  ].join("\n"),
  async run(args) {
    const { flags, rest } = parseFlags(placeFlags, args);
    if (rest.length > 0) throw new UsageError(`leave takes no arguments, got ${JSON.stringify(rest[0])}`);
    const place = new ClusterFolder(flags);
    const machine = joinedMachine(place);
    if (!machine) {
      print(`This machine has joined no cluster ${JSON.stringify(place.name)}: nothing to do.`);
      return;
    }
    const problem = await leaveCluster(place);
    if (problem !== undefined)
      printError(`The cluster could not be told (${problem}); run "kubectl delete node ${machine.node}" there.`);
    print(`This machine is no longer node ${machine.node} of the cluster at ${machine.server}.`);
  },
};
