// How iptables mode delivers: the chain of a policy chooses an endpoint by chance, or the one that the sender had last; each endpoint
// has a chain, which translates.
// Upstream: pkg/proxy/iptables/proxier.go.
import type { FrontendFamily } from "../../frontends.ts";
import { endpointChain } from "./chain-names.ts";
import { hostNetwork, joined, probability, recently, rule } from "./rule-text.ts";
import { type Delivery, markForMasquerade, type ServicePortView } from "./service-chains.ts";

/** With many endpoints their rules go without comments, which are almost half of the text. */
export const endpointDelivery =
  (family: FrontendFamily, isLarge: boolean): Delivery =>
  (port, _, targets) => {
    const endpoints = targets.map(({ address, port: at }) => {
      const to = joined(address, at);
      return { address, to, chain: endpointChain(port.name, port.protocol, to) };
    });
    return {
      rules: choice(family, port, endpoints, isLarge),
      chains: new Map(
        endpoints.map((endpoint) => [endpoint.chain, translation(family, port, endpoint, isLarge)] as const),
      ),
    };
  };

interface EndpointChain {
  readonly address: string;
  /** Its address and port. */
  readonly to: string;
  readonly chain: string;
}

function choice(
  family: FrontendFamily,
  { name, affinitySeconds }: ServicePortView,
  endpoints: readonly EndpointChain[],
  isLarge: boolean,
): readonly string[] {
  const commentOf = ({ to }: EndpointChain) => (isLarge ? undefined : `${name} -> ${to}`);
  const random = endpoints.map((endpoint, i) => {
    const left = endpoints.length - i;
    const matches = left === 1 ? [] : [`-m statistic --mode random --probability ${probability(left)}`];
    return rule({ comment: commentOf(endpoint), matches, jump: endpoint.chain });
  });
  if (affinitySeconds === undefined) return random;
  const sticky = endpoints.map((endpoint) => {
    const match = recently(family, endpoint.chain, `--rcheck --seconds ${affinitySeconds} --reap`);
    return rule({ comment: commentOf(endpoint), matches: [match], jump: endpoint.chain });
  });
  return [...sticky, ...random];
}

function translation(
  family: FrontendFamily,
  { name, protocol, affinitySeconds }: ServicePortView,
  { address, to, chain }: EndpointChain,
  isLarge: boolean,
): readonly string[] {
  const comment = isLarge ? undefined : name;
  const sticky = affinitySeconds === undefined ? [] : [recently(family, chain, "--set")];
  return [
    // An endpoint that reaches itself would answer itself straight.
    rule({ from: hostNetwork(address), comment, jump: markForMasquerade }),
    rule({
      protocol,
      comment,
      matches: [...sticky, `-m ${protocol}`],
      jump: `DNAT --to-destination ${to}`,
    }),
  ];
}
