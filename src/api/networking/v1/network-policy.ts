import { type Infer, int32, intOrString, list, ref, resource, string, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const IPBlock = struct("networking/v1.IPBlock", {
  cidr: string(1).required(),
  except: list(2, "string"),
});
export interface IPBlock extends Infer<typeof IPBlock> {}

export const NetworkPolicyPort = struct("networking/v1.NetworkPolicyPort", {
  protocol: string(1).oneOf("SCTP", "TCP", "UDP").pointer().default("TCP"),
  port: intOrString(2).pointer(),
  endPort: int32(3).pointer(),
});
export interface NetworkPolicyPort extends Infer<typeof NetworkPolicyPort> {}

export const NetworkPolicyPeer = struct("networking/v1.NetworkPolicyPeer", {
  podSelector: ref(1, LabelSelector),
  namespaceSelector: ref(2, LabelSelector),
  ipBlock: ref(3, IPBlock),
});
export interface NetworkPolicyPeer extends Infer<typeof NetworkPolicyPeer> {}

export const NetworkPolicyEgressRule = struct("networking/v1.NetworkPolicyEgressRule", {
  ports: list(1, NetworkPolicyPort),
  to: list(2, NetworkPolicyPeer),
});
export interface NetworkPolicyEgressRule extends Infer<typeof NetworkPolicyEgressRule> {}

export const NetworkPolicyIngressRule = struct("networking/v1.NetworkPolicyIngressRule", {
  ports: list(1, NetworkPolicyPort),
  from: list(2, NetworkPolicyPeer),
});
export interface NetworkPolicyIngressRule extends Infer<typeof NetworkPolicyIngressRule> {}

export const NetworkPolicySpec = struct("networking/v1.NetworkPolicySpec", {
  podSelector: ref(1, LabelSelector).default({}),
  ingress: list(2, NetworkPolicyIngressRule),
  egress: list(3, NetworkPolicyEgressRule),
  policyTypes: list(4, "string").oneOf("Egress", "Ingress"),
});
export interface NetworkPolicySpec extends Infer<typeof NetworkPolicySpec> {}

export const NetworkPolicy = resource({
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  shortNames: ["netpol"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, NetworkPolicySpec).default({}),
  },
});
export interface NetworkPolicy extends Infer<typeof NetworkPolicy> {}
