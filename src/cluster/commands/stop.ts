import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { readSettings, storeOf } from "../local/settings.ts";
import { stopCluster } from "../local/stop.ts";

export const stop: Command = {
  use: "stop [FLAGS]",
  help: [
    'Ends its process and all containers, and keeps its state; "knarr start" continues.',
    "",
    flagsHelp(placeFlags),
  ].join("\n"),
  async run(args) {
    const { flags, rest } = parseFlags(placeFlags, args);
    if (rest.length > 0) throw new UsageError(`stop takes no arguments; to name a cluster: --name=${rest[0]}`);
    const place = new ClusterFolder(flags);
    const machine = joinedMachine(place);
    if (machine) {
      const { stopMachine } = await import("../join/leave.ts");
      await stopMachine(place, machine);
      print(
        `Node ${machine.node} is stopped; "knarr start" continues, "knarr leave" takes this machine out of the cluster.`,
      );
      return;
    }
    place.mustExist();
    const settings = readSettings(place);
    if (settings && storeOf(settings) === "memory" && place.process)
      throw new Error(
        `cluster ${JSON.stringify(place.name)} keeps its state in memory, which would be lost; "knarr down" ends it for good`,
      );
    const was = await stopCluster(place, settings, new AbortController().signal);
    print(`Cluster ${JSON.stringify(place.name)} ${was ? "is stopped" : "was not running"}.`);
  },
};
