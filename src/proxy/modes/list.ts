import { UsageError } from "#base/errors.ts";
import type { MakeProxyMode, ProxyMode, ProxyModeOptions } from "../proxy-mode.ts";
import { iptables } from "./iptables/iptables.ts";
import { nftables } from "./nftables/nftables.ts";
import { userspace } from "./userspace/userspace.ts";

interface ListedMode {
  readonly make: MakeProxyMode;
  /** Modes with rules in the same place replace each other's, and so need not clean up after each other. */
  readonly rulesIn: "nftables" | "iptables";
}

/** All modes, by the names that upstream's configuration has for them. */
const proxyModes: ReadonlyMap<string, ListedMode> = new Map<string, ListedMode>([
  ["nftables", { make: nftables, rulesIn: "nftables" }],
  ["iptables", { make: iptables, rulesIn: "iptables" }],
  ["userspace", { make: userspace, rulesIn: "iptables" }],
]);

export const proxyModeNames: readonly string[] = [...proxyModes.keys()];

/** Why a mode cannot be chosen, or undefined if it can. */
export function proxyModeProblem(name: string): string | undefined {
  if (proxyModes.has(name)) return undefined;
  const others = proxyModeNames.join(", ");
  if (name === "ipvs") return `proxy mode "ipvs", on the kernel module ip_vs, is not there yet; there are ${others}`;
  return `proxy mode ${JSON.stringify(name)} is unknown; there are ${others}`;
}

/** The mode of that name, and others whose rules are elsewhere: what these left is removed before the chosen one begins. */
export function chooseMode(
  name: string,
  options: ProxyModeOptions,
): { readonly mode: ProxyMode; readonly others: readonly ProxyMode[] } {
  const chosen = proxyModes.get(name);
  if (!chosen) throw new UsageError(proxyModeProblem(name) ?? name);
  const others = [...proxyModes.values()].filter(({ rulesIn }) => rulesIn !== chosen.rulesIn);
  return { mode: chosen.make(options), others: onePerPlace(others).map(({ make }) => make(options)) };
}

/** Removes what any mode may have left on the node. */
export async function cleanUpAllModes(options: ProxyModeOptions, signal: AbortSignal): Promise<void> {
  for (const { make } of onePerPlace([...proxyModes.values()])) await make(options).cleanup(signal);
}

const onePerPlace = (modes: readonly ListedMode[]): readonly ListedMode[] =>
  modes.filter(({ rulesIn }, i) => modes.findIndex((mode) => mode.rulesIn === rulesIn) === i);
