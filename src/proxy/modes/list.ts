import { UsageError } from "#base/errors.ts";
import type { MakeProxyMode, ProxyMode, ProxyModeOptions } from "../proxy-mode.ts";
import { iptables } from "./iptables/iptables.ts";
import { ipvs } from "./ipvs/ipvs.ts";
import { nftables } from "./nftables/nftables.ts";
import { userspace } from "./userspace/userspace.ts";

interface ListedMode {
  readonly make: MakeProxyMode;
  /** Where it leaves something. A mode replaces what others have left in its own places, and so need not clean up after them there. */
  readonly places: readonly ("nftables" | "iptables" | "ipvs")[];
}

/** All modes, by the names that upstream's configuration has for them. */
const proxyModes: ReadonlyMap<string, ListedMode> = new Map<string, ListedMode>([
  ["nftables", { make: nftables, places: ["nftables"] }],
  ["iptables", { make: iptables, places: ["iptables"] }],
  ["ipvs", { make: ipvs, places: ["iptables", "ipvs"] }],
  ["userspace", { make: userspace, places: ["iptables"] }],
]);

/** What the kernel has modules for, as ip_vs_rr. */
export const ipvsSchedulers: readonly string[] = "rr,wrr,lc,wlc,lblc,lblcr,sh,mh,dh,sed,nq,fo,ovf".split(",");

export const proxyModeNames: readonly string[] = [...proxyModes.keys()];

/** Why a mode cannot be chosen, or undefined if it can. */
export function proxyModeProblem(name: string): string | undefined {
  if (proxyModes.has(name)) return undefined;
  return `proxy mode ${JSON.stringify(name)} is unknown; there are ${proxyModeNames.join(", ")}`;
}

/** The mode of that name, and others whose rules are elsewhere: what these left is removed before the chosen one begins. */
export function chooseMode(
  name: string,
  options: ProxyModeOptions,
): { readonly mode: ProxyMode; readonly others: readonly ProxyMode[] } {
  const chosen = proxyModes.get(name);
  if (!chosen) throw new UsageError(proxyModeProblem(name) ?? name);
  return { mode: chosen.make(options), others: cleanersBut(chosen.places).map(({ make }) => make(options)) };
}

/** Removes what any mode may have left on the node. */
export async function cleanUpAllModes(options: ProxyModeOptions, signal: AbortSignal): Promise<void> {
  for (const { make } of cleanersBut([])) await make(options).cleanup(signal);
}

/** One mode for each place but these. */
function cleanersBut(places: ListedMode["places"]): readonly ListedMode[] {
  const covered = new Set(places);
  return [...proxyModes.values()].filter((mode) => {
    const isNeeded = mode.places.some((place) => !covered.has(place));
    for (const place of mode.places) covered.add(place);
    return isNeeded;
  });
}
