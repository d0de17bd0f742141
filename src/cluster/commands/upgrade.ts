import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { showSteps } from "#cli/host/steps.ts";
import { print } from "#cli/print.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { upgradeCluster } from "../upgrade/upgrade.ts";
import { knarrVersion, kubernetesVersion } from "../version.ts";

const flags = {
  ...placeFlags,
  drain: {
    type: "bool",
    default: true,
    help: "Drain and restart the nodes of this machine, one after the other; without it, and where there is no other node, containers go on",
  },
  force: { type: "bool", default: false, help: "Let drain remove pods that nobody makes anew" },
  "drain-timeout": {
    type: "string",
    value: "DURATION",
    default: "5m",
    help: "How long to wait for the pods of a node",
  },
} as const;

export const upgrade: Command = {
  use: "upgrade [FLAGS]",
  help: [
    "Run from a newer checkout, brings a cluster that was started from an older one to this version: backs it up, restarts its control plane",
    "while all containers go on, writes objects anew that are stored in a form of before, then drains and restarts node after node. If",
    "the new version does not come up, the one of before is started again, from its own checkout: keep that until you are done.",
    "",
    "With several machines run it on one after the other: control planes first, the one that the cluster was made on before all",
    "others. On a machine that has joined, its process is restarted, and containers go on.",
    "",
    flagsHelp(flags),
    "",
    "Examples:",
    "  /opt/knarr-new/knarr upgrade",
  ].join("\n"),
  async run(args) {
    const { flags: asked, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`upgrade takes no arguments, got ${JSON.stringify(rest[0])}`);
    const place = new ClusterFolder(asked);
    const steps = showSteps(systemClock);
    const { from, objects, nodes, backup } = await upgradeCluster({
      place,
      drains: asked.drain,
      force: asked.force,
      drainTimeout: asked["drain-timeout"],
      progress: (text) => steps.begin(text),
    }).finally(() => steps.end());
    print(
      `\nCluster ${JSON.stringify(place.name)} went from ${from} to ${knarrVersion} (Kubernetes ${kubernetesVersion}).`,
    );
    if (objects) print(`${objects.objects} objects looked at, ${objects.written} written anew.`);
    if (nodes.length > 0) print(`Drained and restarted: ${nodes.join(", ")}.`);
    if (backup !== undefined) print(`Its state of before is in ${backup}; remove that when you do not need it.`);
  },
};
