// Network policies as the documentation of Kubernetes describes them, once more, slow and obvious: which connections are allowed. It shares
// no code with what is tested but the matching of label selectors.
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from "#api/networking/v1/network-policy.ts";
import { selectorMatcher } from "#schema/selector.ts";

export interface ModelPod {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  readonly node: string;
  readonly ports: readonly { readonly name: string; readonly protocol: string; readonly port: number }[];
}

export interface ModelWorld {
  readonly policies: readonly NetworkPolicy[];
  readonly pods: readonly ModelPod[];
  /** Labels by name. */
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface Connection {
  readonly from: string;
  readonly to: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly port: number;
}

/** Both ends have to agree, and whoever no policy is for agrees to everything. */
export function isAllowed(world: ModelWorld, connection: Connection): boolean {
  if (connection.from === connection.to) return true;
  const client = podAt(world, connection.from);
  const server = podAt(world, connection.to);
  return (
    (client === undefined || mayLeave(world, client, connection)) &&
    (server === undefined || mayEnter(world, server, connection))
  );
}

const podAt = ({ pods }: ModelWorld, address: string): ModelPod | undefined =>
  pods.find(({ addresses }) => addresses.includes(address));

function mayLeave(world: ModelWorld, pod: ModelPod, connection: Connection): boolean {
  const policies = policiesFor(world, pod, "Egress");
  if (policies.length === 0) return true;
  return policies.some((policy) =>
    (policy.spec.egress ?? []).some(
      ({ to = [], ports = [] }) =>
        (to.length === 0 || to.some((peer) => isPeer(world, policy, peer, connection.to))) &&
        (ports.length === 0 || ports.some((port) => isPort(world, port, connection))),
    ),
  );
}

function mayEnter(world: ModelWorld, pod: ModelPod, connection: Connection): boolean {
  const policies = policiesFor(world, pod, "Ingress");
  if (policies.length === 0) return true;
  return policies.some((policy) =>
    (policy.spec.ingress ?? []).some(
      ({ from = [], ports = [] }) =>
        (from.length === 0 || from.some((peer) => isPeer(world, policy, peer, connection.from))) &&
        (ports.length === 0 || ports.some((port) => isPort(world, port, connection))),
    ),
  );
}

const policiesFor = ({ policies }: ModelWorld, pod: ModelPod, type: "Ingress" | "Egress"): readonly NetworkPolicy[] =>
  policies.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.namespace &&
      spec.policyTypes?.includes(type) &&
      selectorMatcher(spec.podSelector)(pod.labels),
  );

function isPeer(world: ModelWorld, policy: NetworkPolicy, peer: NetworkPolicyPeer, address: string): boolean {
  if (peer.ipBlock) {
    const { cidr, except = [] } = peer.ipBlock;
    return isWithin(address, cidr) && !except.some((hole) => isWithin(address, hole));
  }
  const pod = podAt(world, address);
  if (!pod) return false;
  if (peer.podSelector && !selectorMatcher(peer.podSelector)(pod.labels)) return false;
  if (!peer.namespaceSelector) return pod.namespace === policy.metadata.namespace;
  const labels = world.namespaces[pod.namespace];
  return labels !== undefined && selectorMatcher(peer.namespaceSelector)(labels);
}

function isPort(world: ModelWorld, { protocol = "TCP", port, endPort }: NetworkPolicyPort, connection: Connection) {
  if (protocol !== connection.protocol) return false;
  if (port === undefined) return true;
  if (typeof port === "number") return connection.port >= port && connection.port <= (endPort ?? port);
  const target = podAt(world, connection.to);
  return (
    target?.ports.some((one) => one.name === port && one.protocol === protocol && one.port === connection.port) ?? false
  );
}

/** By the bits of both, as text: nothing clever. */
function isWithin(address: string, cidr: string): boolean {
  const [network = "", length = "0"] = cidr.split("/");
  if (network.includes(":") !== address.includes(":")) return false;
  return bitsOf(network).slice(0, Number(length)) === bitsOf(address).slice(0, Number(length));
}

function bitsOf(address: string): string {
  if (!address.includes(":"))
    return address
      .split(".")
      .map((part) => Number(part).toString(2).padStart(8, "0"))
      .join("");
  const [head = "", tail] = address.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].map((part) => Number.parseInt(part, 16).toString(2).padStart(16, "0")).join("");
}
