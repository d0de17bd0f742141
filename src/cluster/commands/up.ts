import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { changedSettings, newSettings, readSettings, settingFlags } from "../local/settings.ts";
import { makeKnown, nextWords, startFlags, startForPerson } from "../local/start.ts";

const flags = { ...placeFlags, ...settingFlags, ...startFlags };

export const up: Command = {
  use: "up [FLAGS]",
  help: [
    "Returns when the cluster is ready; it goes on in the background. The context knarr-NAME is put into your kubeconfig.",
    "Run again, it says that the cluster is there; a cluster that was stopped is started with what it had.",
    "",
    flagsHelp(flags),
    "",
    "Examples:",
    "  knarr up --nodes 3",
    "  knarr up --runtime simulated --nodes 5",
    "  knarr up --name test --store memory",
    "  knarr up --ha --bind-address 192.168.5.1",
    "  knarr up --control-plane pods",
    "  knarr up --ip-family dual",
  ].join("\n"),
  async run(args) {
    const { flags: flagValues, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`up takes no arguments, got ${JSON.stringify(rest[0])}`);
    const place = new ClusterFolder(flagValues);
    const machine = joinedMachine(place);
    if (machine)
      throw new UsageError(
        `this machine is node ${machine.node} of the cluster at ${machine.server}; "knarr start" starts it again, "knarr leave" takes it out of that`,
      );
    const before = readSettings(place);
    const settings = before ? changedSettings(before, flagValues, place) : newSettings(flagValues);
    if (place.process) {
      await makeKnown(place, flagValues.kubeconfig ?? before?.kubeconfig, new AbortController().signal);
      print(`Cluster ${JSON.stringify(place.name)} is running already.\n${nextWords(place)}`);
      return;
    }
    await startForPerson({ place, settings, ...(!before && { asked: flagValues }), flags: flagValues, isNew: !before });
  },
};
