// The parts of the table that no policy changes. It sees what the node forwards, which is all that pods say to anybody but their own
// node: what the node itself says to its pods, probes for example, and what they say to it, no policy forbids. The kubelet of a node that is
// a network namespace is outside of it, on the machine: connections from there are let in, too.
//
// Addresses of services have been translated by then (prerouting), and the sender has not yet been replaced (postrouting). A verdict of
// ours is final for our table alone: what another table drops stays dropped.

/** Maps and sets of addresses, in each family. */
export const policyMaps: readonly string[] = ["ingress", "egress", "self"].flatMap((name) => [`${name}4`, `${name}6`]);

/**
 * Packets that the kernel knows no connection of are judged by their own addresses. Errors about a connection (ICMP) pass with it: they
 * tell its ends about sizes and dead ends. Two hooks instead of one, since to accept ends a hook, and both directions have to.
 */
export const policySkeleton = (kubeletAddresses: readonly string[]): string => `  set kubelets4 {
    type ipv4_addr
${elements(kubeletAddresses.filter((address) => !address.includes(":")))}  }
  set kubelets6 {
    type ipv6_addr
${elements(kubeletAddresses.filter((address) => address.includes(":")))}  }
  set self4 {
    type ipv4_addr . ipv4_addr
  }
  set self6 {
    type ipv6_addr . ipv6_addr
  }
  map ingress4 {
    type ipv4_addr : verdict
  }
  map ingress6 {
    type ipv6_addr : verdict
  }
  map egress4 {
    type ipv4_addr : verdict
  }
  map egress6 {
    type ipv6_addr : verdict
  }
  chain forward-egress {
    type filter hook forward priority filter; policy accept;
    ct state related meta l4proto { icmp, icmpv6 } accept
    ct original ip saddr . ct reply ip saddr @self4 accept
    ct original ip6 saddr . ct reply ip6 saddr @self6 accept
    ct original ip saddr vmap @egress4
    ct original ip6 saddr vmap @egress6
    ct state invalid,untracked ip saddr vmap @egress4
    ct state invalid,untracked ip6 saddr vmap @egress6
  }
  chain forward-ingress {
    type filter hook forward priority filter + 1; policy accept;
    ct state related meta l4proto { icmp, icmpv6 } accept
    ct original ip saddr . ct reply ip saddr @self4 accept
    ct original ip6 saddr . ct reply ip6 saddr @self6 accept
    ct original ip saddr @kubelets4 accept
    ct original ip6 saddr @kubelets6 accept
    ct reply ip saddr vmap @ingress4
    ct reply ip6 saddr vmap @ingress6
    ct state invalid,untracked ip daddr vmap @ingress4
    ct state invalid,untracked ip6 daddr vmap @ingress6
  }
`;

const elements = (addresses: readonly string[]): string =>
  addresses.length === 0 ? "" : `    elements = { ${addresses.join(", ")} }\n`;
