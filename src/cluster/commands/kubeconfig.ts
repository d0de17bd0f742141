import { existsSync, readFileSync } from "node:fs";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";

export const kubeconfig: Command = {
  use: "kubeconfig [FLAGS]",
  help: ["Prints a kubeconfig with the cluster alone, as its administrator.", "", flagsHelp(placeFlags)].join("\n"),
  async run(args) {
    const { flags, rest } = parseFlags(placeFlags, args);
    if (rest.length > 0) throw new UsageError(`kubeconfig takes no arguments; to name a cluster: --name=${rest[0]}`);
    const place = new ClusterFolder(flags);
    place.mustExist();
    if (!existsSync(place.adminKubeconfig))
      throw new Error(`cluster ${JSON.stringify(place.name)} has never been started; run "knarr up"`);
    process.stdout.write(readFileSync(place.adminKubeconfig, "utf8"));
  },
};
