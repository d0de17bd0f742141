import { parseFlags } from "#cli/flags.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { readSettings } from "./settings.ts";
import { startFlags, startForPerson } from "./start.ts";

const joinedMs = 120_000;

/** Starts a cluster, or the node of a machine that has joined one, as `knarr start` does. */
export async function startAgain(place: ClusterFolder): Promise<void> {
  const machine = joinedMachine(place);
  if (machine) {
    const { startMachine } = await import("../join/start-machine.ts");
    return startMachine(place, machine, AbortSignal.timeout(joinedMs));
  }
  const settings = readSettings(place);
  if (!settings) return place.mustExist();
  const { flags } = parseFlags(startFlags, []);
  await startForPerson({ place, settings, flags: { ...flags, kubeconfig: settings.kubeconfig }, isNew: false });
}
