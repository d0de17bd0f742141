import { ageColumn, nameColumn } from "#schema/columns.ts";
import { cidrAnyForm } from "#schema/formats.ts";
import {
  type Infer,
  int32,
  intOrString,
  invalid,
  list,
  notSupported,
  type Problem,
  ref,
  resource,
  string,
  struct,
} from "#schema/index.ts";
import { formatSelector } from "#schema/selector.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { checkBlock, checkPeer, checkPolicyPort } from "./checks.ts";

export const IPBlock = struct(
  "networking/v1.IPBlock",
  {
    cidr: string(1, "The range of addresses.").nonEmpty().is(cidrAnyForm).required(),
    except: list(2, "string", "Ranges within it that are left out.").is(cidrAnyForm),
  },
  {
    *check(block): Iterable<Problem> {
      yield* checkBlock(block);
    },
  },
);
export interface IPBlock extends Infer<typeof IPBlock> {}

export const NetworkPolicyPort = struct(
  "networking/v1.NetworkPolicyPort",
  {
    protocol: string(1, "The protocol.")
      .oneOf("TCP", "UDP", "SCTP")
      .publishedAs("SCTP", "TCP", "UDP")
      .pointer()
      .default("TCP"),
    port: intOrString(2, "The port, by number or by the name it has in the pod; all if absent.").pointer(),
    endPort: int32(3, "With a number above, the last of a range of ports.").pointer(),
  },
  {
    *check(port): Iterable<Problem> {
      yield* checkPolicyPort(port);
    },
  },
);
export interface NetworkPolicyPort extends Infer<typeof NetworkPolicyPort> {}

export const NetworkPolicyPeer = struct(
  "networking/v1.NetworkPolicyPeer",
  {
    podSelector: ref(1, LabelSelector, "Pods, of the policy's namespace or of those selected below."),
    namespaceSelector: ref(2, LabelSelector, "Namespaces all of whose pods, or the selected ones, are meant."),
    ipBlock: ref(3, IPBlock, "Addresses, usually outside the cluster."),
  },
  {
    *check(peer): Iterable<Problem> {
      yield* checkPeer(peer);
    },
  },
);
export interface NetworkPolicyPeer extends Infer<typeof NetworkPolicyPeer> {}

export const NetworkPolicyEgressRule = struct("networking/v1.NetworkPolicyEgressRule", {
  ports: list(1, NetworkPolicyPort, "Ports that may be reached; all if empty."),
  to: list(2, NetworkPolicyPeer, "Who may be reached; anybody if empty."),
});
export interface NetworkPolicyEgressRule extends Infer<typeof NetworkPolicyEgressRule> {}

export const NetworkPolicyIngressRule = struct("networking/v1.NetworkPolicyIngressRule", {
  ports: list(1, NetworkPolicyPort, "Ports that may be reached; all if empty."),
  from: list(2, NetworkPolicyPeer, "Who may come in; anybody if empty."),
});
export interface NetworkPolicyIngressRule extends Infer<typeof NetworkPolicyIngressRule> {}

export const NetworkPolicySpec = struct(
  "networking/v1.NetworkPolicySpec",
  {
    podSelector: ref(1, LabelSelector, "Pods that the policy is for; all of the namespace if empty.").default({}),
    ingress: list(2, NetworkPolicyIngressRule, "What may come in. Without any rule, nothing may."),
    egress: list(3, NetworkPolicyEgressRule, "What may go out. Without any rule, nothing may."),
    policyTypes: list(4, "string", "Which directions the policy limits.")
      .known("Ingress", "Egress")
      .publishedAs("Egress", "Ingress"),
  },
  {
    complete(spec) {
      if ((spec.policyTypes ?? []).length > 0) return;
      spec.policyTypes = (spec.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
    },
    *check({ policyTypes = [] }) {
      if (policyTypes.length > 2) {
        yield invalid("policyTypes", "may not specify more than two policyTypes");
        return;
      }
      for (const [i, type] of policyTypes.entries())
        if (type !== "Ingress" && type !== "Egress") yield notSupported(`policyTypes[${i}]`, ["Ingress", "Egress"]);
    },
  },
);
export interface NetworkPolicySpec extends Infer<typeof NetworkPolicySpec> {}

export const NetworkPolicy = resource({
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  shortNames: ["netpol"],
  scope: "Namespaced",
  doc: "Limits which connections pods may take and make. Pods that no policy selects are not limited.",
  fields: {
    spec: ref(2, NetworkPolicySpec, "What is wanted.").default({}),
  },
  columns: [
    nameColumn,
    { name: "Pod-Selector", doc: "Pods that the policy is for.", cell: ({ spec }) => formatSelector(spec.podSelector) },
    ageColumn,
  ],
});
export interface NetworkPolicy extends Infer<typeof NetworkPolicy> {}
