import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print, printError } from "#cli/print.ts";
import { leaveCluster } from "../join/leave.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { isUnfinished, removeUnfinished } from "../join/unfinished.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { readSettings, storeOf } from "../local/settings.ts";

const flags = {
  ...placeFlags,
  force: {
    type: "bool",
    default: false,
    help: "Leave also if the other control planes cannot go on without this machine",
  },
} as const;

export const leaveCommand: Command = {
  use: "leave [FLAGS]",
  help: [
    "Ends all that runs on this machine for the cluster that it has joined, tells the cluster, and removes all that is left of it here.",
    'To have pods move in good order before, run "knarr node drain NODE" where the cluster is.',
    "A machine with a control plane, also the one that the cluster was made on, leaves the cluster's etcd as well; it is refused if",
    "too few members would be left that answer. An etcd that was given with --etcd-servers is left alone.",
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: asked, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`leave takes no arguments, got ${JSON.stringify(rest[0])}`);
    const place = new ClusterFolder(asked);
    if (isUnfinished(place)) {
      await removeUnfinished(place);
      print("What a try to join had left, which was cut off, is gone.");
      return;
    }
    const machine = joinedMachine(place);
    const settings = machine ? undefined : readSettings(place);
    if (settings && storeOf(settings) === "etcd") {
      const { leaveHome } = await import("../join/leave-home.ts");
      const untold = await leaveHome(place, settings, asked);
      if (untold !== undefined) printError(`Not all could be told: ${untold}.`);
      print(`This machine is no longer a control plane of cluster ${JSON.stringify(place.name)}.`);
      return;
    }
    if (!machine) {
      print(`This machine has joined no cluster ${JSON.stringify(place.name)}: nothing to do.`);
      return;
    }
    const problem = await leaveCluster(place, asked);
    if (problem !== undefined)
      printError(`The cluster could not be told (${problem}); run "kubectl delete node ${machine.node}" there.`);
    print(`This machine is no longer node ${machine.node} of the cluster at ${machine.server}.`);
  },
};
