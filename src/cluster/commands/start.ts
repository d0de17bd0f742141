import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { readSettings } from "../local/settings.ts";
import { startFlags, startForPerson } from "../local/start.ts";

const flags = { ...placeFlags, ...startFlags };

export const start: Command = {
  use: "start [FLAGS]",
  help: [
    'What it had is there again; its pods are started anew. "knarr up" does the same, and may change its settings.',
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: flagValues, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`start takes no arguments; to name a cluster: --name=${rest[0]}`);
    const place = new ClusterFolder(flagValues);
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
