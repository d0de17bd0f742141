// Pods, namespaces and policies for tests: fixed ones, and random ones.
import { NetworkPolicy } from "#api/networking/v1/network-policy.ts";
import type { Random } from "#base/random.ts";
import { world } from "#client/testing.ts";
import type { PolicyPod } from "#network/policy/policy-pod.ts";
import { PolicyTable } from "#network/policy/policy-table.ts";
import type { Draft } from "#schema/infer.ts";
import { formatIp, parseIp } from "#schema/ip.ts";
import type { ModelPod, ModelWorld } from "./model.ts";

export const nodes = ["n1", "n2"] as const;

/** The policy as the API would have it, with defaults. */
export const policyOf = (name: string, namespace: string, spec: Draft<NetworkPolicy["spec"]>): NetworkPolicy =>
  world().have(NetworkPolicy, { metadata: { name, namespace }, spec });

export const policyPod = ({ namespace, labels, addresses, ports, node }: ModelPod, here: string): PolicyPod => ({
  namespace,
  labels,
  ports,
  addresses: addresses.flatMap((text) => {
    const ip = parseIp(text);
    return ip ? [{ family: ip.family, text: formatIp(ip) }] : [];
  }),
  isLocal: node === here,
});

/** The table of a node, made from nothing. */
export function tableFor({ policies, pods, namespaces }: ModelWorld, node: string): PolicyTable {
  const table = new PolicyTable();
  for (const [name, labels] of Object.entries(namespaces)) table.setNamespace(name, labels);
  for (const pod of pods) table.setPod(`${pod.namespace}/${pod.name}`, policyPod(pod, node));
  for (const policy of policies) table.setPolicy(keyOf(policy), policy);
  return table;
}

export const keyOf = ({ metadata }: NetworkPolicy): string => `${metadata.namespace}/${metadata.name}`;

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)] as T;
const some = <T>(random: Random, most: number, make: () => T): readonly T[] =>
  Array.from({ length: Math.floor(random.next() * (most + 1)) }, make);

export const namespaceNames = ["x", "y", "z"] as const;
const tiers = ["front", "back"] as const;

export function randomPod(random: Random, i: number): ModelPod {
  const node = i % 2;
  return {
    name: `p${i}`,
    namespace: pick(random, namespaceNames),
    labels: { app: pick(random, ["a", "b", "c"]), ...(random.next() < 0.5 && { tier: pick(random, tiers) }) },
    addresses: [`10.244.${node + 1}.${i + 1}`, `fd00:244:${node + 1}::${(i + 1).toString(16)}`],
    node: nodes[node] ?? "",
    ports: [
      { name: "web", protocol: "TCP", port: pick(random, [80, 81]) },
      ...(random.next() < 0.5 ? [{ name: "dns", protocol: "UDP", port: pick(random, [80, 81]) }] : []),
    ],
  };
}

export const randomNamespaceLabels = (random: Random): Record<string, string> =>
  random.next() < 0.7 ? { team: pick(random, ["red", "blue"]) } : {};

type Spec = NetworkPolicy["spec"];
type PeerDraft = Draft<NonNullable<NonNullable<Spec["ingress"]>[number]["from"]>[number]>;
type PortDraft = Draft<NonNullable<NonNullable<Spec["ingress"]>[number]["ports"]>[number]>;
type SelectorDraft = Draft<Spec["podSelector"]>;

const selectors: readonly SelectorDraft[] = [
  {},
  { matchLabels: { app: "a" } },
  { matchLabels: { app: "b", tier: "front" } },
  { matchExpressions: [{ key: "app", operator: "In", values: ["a", "c"] }] },
  { matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] },
  { matchExpressions: [{ key: "app", operator: "NotIn", values: ["a"] }] },
];
const namespaceSelectors: readonly SelectorDraft[] = [
  {},
  { matchLabels: { team: "red" } },
  { matchExpressions: [{ key: "team", operator: "DoesNotExist" }] },
];
const blocks: readonly NonNullable<PeerDraft["ipBlock"]>[] = [
  { cidr: "0.0.0.0/0" },
  { cidr: "::/0", except: ["fd00:244:1::/64"] },
  { cidr: "10.244.0.0/16", except: ["10.244.1.2/32", "10.244.1.4/31", "10.244.2.0/28"] },
  { cidr: "10.244.1.0/30" },
  { cidr: "fd00:244:2::/64" },
  { cidr: "0.0.0.0/0", except: ["10.244.1.1/32", "10.244.1.3/32", "10.244.1.5/32", "10.244.2.2/32", "10.244.2.4/32"] },
];

const randomPeer = (random: Random): PeerDraft => {
  const kind = random.next();
  if (kind < 0.3) return { podSelector: pick(random, selectors) };
  if (kind < 0.5) return { namespaceSelector: pick(random, namespaceSelectors) };
  if (kind < 0.7) return { namespaceSelector: pick(random, namespaceSelectors), podSelector: pick(random, selectors) };
  return { ipBlock: pick(random, blocks) };
};

const ports: readonly PortDraft[] = [
  { port: 80 },
  { port: 81 },
  { protocol: "UDP", port: 80 },
  { port: "web" },
  { protocol: "UDP", port: "dns" },
  { protocol: "UDP", port: "web" },
  { protocol: "UDP" },
  { protocol: "TCP", port: 80, endPort: 90 },
  { protocol: "TCP", port: 1, endPort: 79 },
  { protocol: "SCTP", port: 80 },
];

export function randomPolicy(random: Random, name: string, namespace: string): NetworkPolicy {
  const ingress = () => ({
    from: some(random, 3, () => randomPeer(random)),
    ports: some(random, 6, () => pick(random, ports)),
  });
  const egress = () => ({
    to: some(random, 3, () => randomPeer(random)),
    ports: some(random, 6, () => pick(random, ports)),
  });
  const types = pick(random, [[], ["Ingress"], ["Egress"], ["Ingress", "Egress"]] as const);
  return policyOf(name, namespace, {
    podSelector: pick(random, selectors),
    ...(types.length > 0 && { policyTypes: [...types] }),
    ingress: [...some(random, 2, ingress)],
    egress: [...some(random, 2, egress)],
  });
}

export function randomWorld(random: Random): ModelWorld {
  return {
    namespaces: Object.fromEntries(namespaceNames.map((name) => [name, randomNamespaceLabels(random)])),
    pods: Array.from({ length: 7 }, (_, i) => randomPod(random, i)),
    policies: some(random, 6, () => 0).map((_, i) => randomPolicy(random, `policy-${i}`, pick(random, namespaceNames))),
  };
}

export { pick, some };
