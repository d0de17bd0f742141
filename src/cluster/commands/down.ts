import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { isUnfinished } from "../join/unfinished.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { endProcess } from "../local/end.ts";
import { removeCluster } from "../local/remove.ts";
import { readSettings } from "../local/settings.ts";

const flags = {
  ...placeFlags,
  force: {
    type: "bool",
    default: false,
    help: "End it also if other control planes cannot go on without this machine",
  },
} as const;

export const down: Command = {
  use: "down [FLAGS]",
  help: [
    "Ends its process, removes its nodes and its folder, and takes its context out of your kubeconfig. Images that were made to try",
    "clusters with stay in the folder .images of --data-dir, for the next: some 10 MB that can be removed at any time.",
    "",
    'On a machine that has joined the cluster of another it does what "knarr leave" does; so it does where a cluster was made that has',
    "other control planes by now.",
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: asked, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`down takes no arguments; to name a cluster: --name=${rest[0]}`);
    const place = new ClusterFolder(asked);
    if (isUnfinished(place) || joinedMachine(place) || (await hasOthers(place))) {
      const { leaveCommand } = await import("./leave.ts");
      await leaveCommand.run(args);
      return;
    }
    const settings = readSettings(place);
    if (!settings && !place.process && !(await isForgotten(place))) {
      print(`There is no cluster ${JSON.stringify(place.name)} in ${place.root}: nothing to do.`);
      return;
    }
    await endProcess(place, new AbortController().signal);
    await removeCluster(place);
    const kept =
      settings && settings["etcd-servers"].length > 0
        ? `; what it kept in ${settings["etcd-servers"].join(",")} is still there`
        : "";
    print(`Cluster ${JSON.stringify(place.name)} is gone${kept}.`);
  },
};

/** Whether the cluster goes on without this machine. */
async function hasOthers(place: ClusterFolder): Promise<boolean> {
  if (!readSettings(place)?.ha) return false;
  const { otherMembers } = await import("../join/leave-etcd.ts");
  return ((await otherMembers(place, new AbortController().signal)) ?? 0) > 0;
}

/** Whether there is no folder any more, but nodes still run. */
async function isForgotten(place: ClusterFolder): Promise<boolean> {
  const { forgottenNodes } = await import("../machine/forgotten-nodes.ts");
  return forgottenNodes(place) !== undefined;
}
