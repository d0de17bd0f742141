// What has to be so before a cluster of real nodes can be started: the machine has what they need, and nothing is in their way.
import { existsSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import {
  egressNotes,
  findConflicts,
  type HostState,
  type OtherCluster,
  pickRanges,
  type Ranges,
} from "#network/conflicts.ts";
import { namespacesOf, readHostState } from "#network/host/host-state.ts";
import { namesakeOf } from "../machine/home.ts";
import { plannedNetwork } from "../machine/planned-network.ts";
import { type EnsureOptions, ensureRequirements } from "../machine/requirements.ts";
import { ClusterFolder } from "./cluster-folder.ts";
import { familiesAsked, rangeFlags } from "./range-settings.ts";
import { newSettings, readSettings, type Settings, type UpFlags } from "./settings.ts";

export interface Preparation {
  readonly place: ClusterFolder;
  readonly settings: Settings;
  /** What a person named of them, for a new cluster. */
  readonly asked?: UpFlags;
}

export interface PrepareOptions extends Omit<EnsureOptions, "folder"> {
  /** Called with warnings about the machine. */
  readonly note: (sentence: string) => void;
}

/**
 * The settings to start a cluster with. A new one has ranges of addresses that nothing on this machine uses, where nobody asked for
 * others. Throws an error that says what is missing or in the way, and what a person can do.
 */
export async function prepareMachine(
  { place, settings, asked }: Preparation,
  { note, ...options }: PrepareOptions,
  signal: AbortSignal,
): Promise<Settings> {
  const namesake = namesakeOf(place);
  if (namesake !== undefined)
    throw new Error(
      `there is a cluster ${JSON.stringify(place.name)} in ${namesake}, and two of one name would share their nodes; choose another --name, or end that one with "knarr down --name=${place.name} --data-dir=${dirname(namesake)}"`,
    );
  if (settings["ip-family"] !== "ipv4" && !existsSync("/proc/net/if_inet6"))
    throw new Error(
      `--ip-family=${settings["ip-family"]}: this kernel has no IPv6 (there is no /proc/net/if_inet6); boot it without ipv6.disable=1, or use --ip-family=ipv4`,
    );
  const { pluginFolder } = await ensureRequirements(
    { ...options, folder: place.folder, proxyMode: settings["proxy-mode"] },
    signal,
  );
  const others = otherClusters(place);
  // The namespaces of a cluster are the same whichever ranges it has.
  const host = await readHostState(namespacesOf(plannedNetwork(place, settings)));
  const fit = { ...(asked ? withFreeRanges(place, asked, host, others) : settings), pluginFolder };
  const network = plannedNetwork(place, fit);
  const conflicts = findConflicts(network, host, others);
  if (conflicts.length > 0) throw new Error(conflicts.join("; "));
  for (const sentence of egressNotes(network, host)) note(sentence);
  return fit;
}

function withFreeRanges(
  place: ClusterFolder,
  asked: UpFlags,
  host: HostState,
  others: readonly OtherCluster[],
): Settings {
  const wanted = Object.fromEntries(
    Object.entries(rangeFlags).flatMap(([name, flag]) => (asked[flag] === undefined ? [] : [[name, asked[flag]]])),
  );
  const ranges = pickRanges(wanted, host, others, { cluster: place.name, families: familiesAsked(asked) });
  const picked = Object.entries(rangeFlags).map(([name, flag]) => [flag, ranges[name as keyof Ranges]]);
  return newSettings({ ...asked, ...Object.fromEntries(picked) });
}

const otherClusters = ({ name, root }: ClusterFolder): readonly OtherCluster[] =>
  (existsSync(root) ? readdirSync(root) : [])
    .filter((other) => other !== name && !other.startsWith("."))
    .flatMap((other) => {
      const settings = readSettings(new ClusterFolder({ name: other, "data-dir": root }));
      if (settings?.runtime !== "containerd") return [];
      const ranges = Object.entries(rangeFlags).map(([range, flag]) => [range, settings[flag]]);
      return [{ cluster: other, ...(Object.fromEntries(ranges) as Ranges) }];
    });
