import { UsageError } from "#base/errors.ts";
import type { MakeProxyMode, ProxyMode, ProxyModeOptions } from "../proxy-mode.ts";
import { iptables } from "./iptables/iptables.ts";
import { nftables } from "./nftables/nftables.ts";

/** All modes, by the names that upstream's configuration has for them. */
const proxyModes: ReadonlyMap<string, MakeProxyMode> = new Map([
  ["nftables", nftables],
  ["iptables", iptables],
]);

export const proxyModeNames: readonly string[] = [...proxyModes.keys()];

/** The mode of that name, and all others: what they left on the node is removed before the chosen one begins. */
export function chooseMode(
  name: string,
  options: ProxyModeOptions,
): { readonly mode: ProxyMode; readonly others: readonly ProxyMode[] } {
  const make = proxyModes.get(name);
  if (!make)
    throw new UsageError(`proxy mode ${JSON.stringify(name)} is unknown; there are ${proxyModeNames.join(", ")}`);
  const others = [...proxyModes.values()].filter((other) => other !== make);
  return { mode: make(options), others: others.map((makeOther) => makeOther(options)) };
}
