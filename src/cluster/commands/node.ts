import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { nodeNames, readSettings } from "../local/settings.ts";
import { isSwitchedOff, switchNode } from "../local/switches.ts";

export const node: Command = {
  use: "node stop|start NODE [FLAGS]",
  help: [
    "Switches a node off, as if its power were cut: its containers end, and nobody hears of it any more. After 50 seconds the cluster",
    "takes it for dead; its pods move as soon as they tolerate that no longer, which is after 5 minutes unless they say otherwise.",
    "",
    flagsHelp(placeFlags),
    "",
    "Examples:",
    "  knarr node stop node-2",
    "  knarr node start node-2",
  ].join("\n"),
  async run(args) {
    const { flags, rest } = parseFlags(placeFlags, args);
    const [verb, name, ...more] = rest;
    if ((verb !== "stop" && verb !== "start") || name === undefined || more.length > 0)
      throw new UsageError("node takes stop or start, and the name of a node");
    const place = new ClusterFolder(flags);
    place.mustExist();
    const settings = readSettings(place);
    const names = settings ? nodeNames(settings) : [];
    if (!names.includes(name)) {
      const shown = names.length > 10 ? `${names.slice(0, 10).join(", ")}, …` : names.join(", ");
      throw new UsageError(
        `there is no node ${JSON.stringify(name)} in cluster ${JSON.stringify(place.name)}: ${shown}`,
      );
    }
    const isOn = verb === "start";
    if (isSwitchedOff(place, name) !== isOn) {
      print(`Node ${name} is switched ${isOn ? "on" : "off"} already.`);
      return;
    }
    switchNode(place, name, isOn);
    const when = place.process ? "" : " when the cluster runs again";
    print(`Node ${name} is switched ${isOn ? "on" : "off"}${when}; "kubectl get nodes" shows how it is.`);
  },
};
