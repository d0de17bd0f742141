import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { showProgress } from "#cli/host/progress.ts";
import { print } from "#cli/print.ts";
import { makeBackup } from "../backup/make-backup.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";

export const backup: Command = {
  use: "backup FILE [FLAGS]",
  help: [
    "Writes all that a cluster is made of to one new file, as of one moment, while the cluster runs: its objects, its settings, the keys",
    "of its authorities and the key that its Secrets are encrypted with. Of a cluster with several control planes, any of them will do.",
    "",
    "The file is not encrypted. Whoever can read it has the cluster, so its mode is 0600: keep it as safe as the cluster's own folder.",
    "It does not hold what pods wrote to volumes, nor images that were loaded.",
    "",
    '"knarr restore FILE" makes the cluster anew.',
    "",
    flagsHelp(placeFlags),
    "",
    "Examples:",
    "  knarr backup /safe/monday.backup",
  ].join("\n"),
  async run(args) {
    const { flags, rest } = parseFlags(placeFlags, args);
    const [target, ...more] = rest;
    if (target === undefined || more.length > 0) throw new UsageError("backup takes one file to write to");
    const place = new ClusterFolder(flags);
    const progress = showProgress("copying", systemClock);
    const { revision, keys } = await makeBackup({ place, target, onProgress: progress.update }).finally(() =>
      progress.end(),
    );
    print(`${target}: cluster ${JSON.stringify(place.name)} as of revision ${revision}, ${keys} keys.`);
    print("It holds the cluster's keys, unencrypted: whoever can read it has the cluster.");
  },
};
