// The names of the chains of iptables mode, as upstream computes them: tools and people look for them.
// Upstream: pkg/proxy/iptables/proxier.go.
import { sha256 } from "#base/sha256.ts";

/** The chains of one port of a service; `name` is `namespace/name:port`, without the colon for a port that has no name. */
export const portChains = (name: string, protocol: string): PortChains => {
  const hash = hashOf(`${name}${protocol}`);
  return {
    cluster: `KUBE-SVC-${hash}`,
    local: `KUBE-SVL-${hash}`,
    external: `KUBE-EXT-${hash}`,
    firewall: `KUBE-FW-${hash}`,
  };
};

export interface PortChains {
  /** To the endpoints of the traffic policy Cluster. */
  readonly cluster: string;
  /** To the endpoints of the traffic policy Local. */
  readonly local: string;
  /** For traffic to addresses that outsiders know. */
  readonly external: string;
  /** For traffic to a load balancer that not everybody may use. */
  readonly firewall: string;
}

/** `endpoint` is its address and port, as in `10.244.0.1:80`. */
export const endpointChain = (name: string, protocol: string, endpoint: string): string =>
  `KUBE-SEP-${hashOf(`${name}${protocol}${endpoint}`)}`;

/** Whether a chain of the nat table is that of a service or of an endpoint. */
export const isServiceChain = (chain: string): boolean => /^KUBE-(SVC|SVL|EXT|FW|SEP)-/.test(chain);

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const hashLength = 16;

/** The beginning of the SHA-256 in base32: names of chains have at most 28 characters. */
function hashOf(text: string): string {
  const bytes = sha256(text);
  return Array.from({ length: hashLength }, (_, i) => {
    const bit = i * 5;
    const pair = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0);
    return alphabet[(pair >> (11 - (bit & 7))) & 31];
  }).join("");
}
