import { rmSync } from "node:fs";
import { UsageError } from "#base/errors.ts";
import type { Command } from "../command.ts";
import { flagsHelp, parseFlags } from "../flags.ts";
import { removeContext } from "../local/contexts.ts";
import { endProcess } from "../local/end.ts";
import { Place, placeFlags } from "../local/place.ts";
import { readSettings, storeOf } from "../local/settings.ts";

export const down: Command = {
  use: "down [FLAGS]",
  help: [
    "Ends its process, removes its folder, and takes its context out of your kubeconfig.",
    "",
    flagsHelp(placeFlags),
  ].join("\n"),
  async run(args) {
    const { flags, rest } = parseFlags(placeFlags, args);
    if (rest.length > 0) throw new UsageError(`down takes no arguments; to name a cluster: --name=${rest[0]}`);
    const place = new Place(flags);
    const { signal } = new AbortController();
    const settings = readSettings(place);
    if (!settings && !place.process) {
      console.log(`There is no cluster ${JSON.stringify(place.name)} in ${place.root}: nothing to do.`);
      return;
    }
    await endProcess(place, signal);
    if (settings?.kubeconfig !== undefined) await removeContext(place, settings.kubeconfig, signal);
    rmSync(place.folder, { recursive: true, force: true });
    const kept =
      settings && storeOf(settings) === "etcd"
        ? `; what it kept in ${settings["etcd-servers"].join(",")} is still there`
        : "";
    console.log(`Cluster ${JSON.stringify(place.name)} is gone${kept}.`);
  },
};
