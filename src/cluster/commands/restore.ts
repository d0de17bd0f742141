import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { showSteps } from "#cli/host/steps.ts";
import { print } from "#cli/print.ts";
import { restoreBackup } from "../backup/restore-backup.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { changedSettings, type Settings, settingFlags, type UpFlags } from "../local/settings.ts";
import { startFlags, startForPerson } from "../local/start.ts";

const flags = {
  name: { type: "string", value: "NAME", help: "Name of the cluster here; defaults to the one of the backup" },
  "data-dir": placeFlags["data-dir"],
  port: settingFlags.port,
  "bind-address": settingFlags["bind-address"],
  "advertise-address": settingFlags["advertise-address"],
  ...startFlags,
} as const;

type AddressFlags = Pick<UpFlags, "port" | "bind-address" | "advertise-address">;

export const restore: Command = {
  use: "restore FILE [FLAGS]",
  help: [
    'Makes the cluster of a backup ("knarr backup") anew on this machine, and starts it. If that fails, nothing is left of it.',
    "The nodes that the cluster had where it was made are here now; their pods are started anew. Where the address of this machine is",
    "another, say so with --bind-address. Other machines join again: knarr token create --print-join-command, or --control-plane.",
    "",
    "Certificates, tokens and kubeconfigs of before are good again, for the address that they name. Clients that watch list again.",
    "What pods wrote to volumes is not in a backup, nor are images that were loaded.",
    "",
    flagsHelp(flags),
    "",
    "Examples:",
    "  knarr restore /safe/monday.backup --bind-address 192.168.5.7",
  ].join("\n"),
  async run(args) {
    const { flags: asked, rest } = parseFlags(flags, args);
    const [backup, ...more] = rest;
    if (backup === undefined || more.length > 0) throw new UsageError("restore takes the file of a backup");
    const { port, "bind-address": bind, "advertise-address": advertise } = asked;
    const steps = showSteps(systemClock);
    const { place, settings, content, report } = await restoreBackup({
      backup,
      placeFor: (cluster) => new ClusterFolder({ name: asked.name ?? cluster, "data-dir": asked["data-dir"] }),
      changed: (before, place) =>
        changedBy(before, { port, "bind-address": bind, "advertise-address": advertise }, place),
      install: !asked["no-install"],
      progress: (text) => steps.begin(text),
    }).finally(() => steps.end());
    await startForPerson({ place, settings, flags: asked, isNew: true });
    print(
      `\nCluster ${JSON.stringify(place.name)} is as it was at ${content.madeAt}: revision ${report.revision}, ${report.keys} keys.`,
    );
  },
};

/** An address that the cluster had elsewhere is not one of this machine. */
function changedBy(before: Settings, asked: AddressFlags, place: ClusterFolder): Settings {
  const isElsewhere = asked["bind-address"] !== undefined;
  const moved = isElsewhere ? { ...before, "advertise-address": undefined } : before;
  return changedSettings(moved, { ...parseFlags(settingFlags, []).flags, ...asked }, place);
}
