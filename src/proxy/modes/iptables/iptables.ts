// Services as iptables rules, under the names of upstream's chains. A change writes only the chains that it concerns.
// Upstream: pkg/proxy/iptables/proxier.go.
import type { ProxyMode, ProxyModeOptions } from "../../proxy-mode.ts";
import { endpointDelivery } from "./endpoint-chains.ts";
import { RestoredRules } from "./restored-rules.ts";

export function iptables(options: ProxyModeOptions): ProxyMode {
  const rules = new RestoredRules(options, {
    deliver: (family) => (isLarge) => endpointDelivery(family, isLarge),
    masquerades: true,
  });
  return {
    name: "iptables",
    rewrite: (changes, signal) => rules.rewrite(changes, signal),
    change: (changes, signal) => rules.change(changes, signal),
    isIntact: (signal) => rules.isIntact(signal),
    cleanup: (signal) => rules.cleanup(signal),
  };
}
