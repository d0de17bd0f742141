import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { cordonNode, drainNode } from "../local/drain.ts";
import { nodeNames, readSettings } from "../local/settings.ts";
import { isSwitchedOff, switchNode } from "../local/switches.ts";

const nodeFlags = {
  ...placeFlags,
  force: { type: "bool", default: false, help: "Let drain remove pods that nobody makes anew" },
  timeout: {
    type: "string",
    value: "DURATION",
    default: "0s",
    help: "How long drain may take; 0s for as long as it takes",
  },
} as const;

export const node: Command = {
  use: "node stop|start|drain|cordon|uncordon NODE [FLAGS]",
  help: [
    "drain moves the pods of a node to others and lets no new ones come, before its machine is stopped or leaves; cordon does the latter",
    "alone, and uncordon ends it. Pods of DaemonSets stay, what is in emptyDir volumes is lost, disruption budgets are kept.",
    "",
    "stop and start are for the nodes of this machine:",
    "Switches a node off, as if its power were cut: its containers end, and nobody hears of it any more. After 50 seconds the cluster",
    "takes it for dead; its pods move as soon as they tolerate that no longer, which is after 5 minutes unless they say otherwise.",
    "",
    flagsHelp(nodeFlags),
    "",
    "Examples:",
    "  knarr node stop node-2",
    "  knarr node start node-2",
    "  knarr node drain rack-2",
  ].join("\n"),
  async run(args) {
    const { flags, rest } = parseFlags(nodeFlags, args);
    const [verb = "", name, ...more] = rest;
    const place = new ClusterFolder(flags);
    if (name !== undefined && more.length === 0) {
      if (verb === "drain") return drainNode(place, name, flags);
      if (verb === "cordon" || verb === "uncordon") return cordonNode(place, name, verb === "cordon");
    }
    switchForPerson(place, rest);
    return 0;
  },
};

function switchForPerson(place: ClusterFolder, rest: readonly string[]): void {
  const [verb, name, ...more] = rest;
  if ((verb !== "stop" && verb !== "start") || name === undefined || more.length > 0)
    throw new UsageError("node takes stop, start, drain, cordon or uncordon, and the name of a node");
  place.mustExist();
  const settings = readSettings(place);
  const names = settings ? nodeNames(settings) : [];
  if (!names.includes(name)) {
    const shown = names.length > 10 ? `${names.slice(0, 10).join(", ")}, …` : names.join(", ");
    throw new UsageError(`there is no node ${JSON.stringify(name)} in cluster ${JSON.stringify(place.name)}: ${shown}`);
  }
  const isOn = verb === "start";
  if (isSwitchedOff(place, name) !== isOn) {
    print(`Node ${name} is switched ${isOn ? "on" : "off"} already.`);
    return;
  }
  switchNode(place, name, isOn);
  const when = place.process ? "" : " when the cluster runs again";
  print(`Node ${name} is switched ${isOn ? "on" : "off"}${when}; "kubectl get nodes" shows how it is.`);
}
