// Warnings about accepted ingresses and network policies.
// Upstream: pkg/registry/networking/ingress/strategy.go and pkg/registry/networking/networkpolicy/strategy.go.
import type { Ingress } from "#api/networking/v1/ingress.ts";
import type { NetworkPolicy, NetworkPolicyPeer } from "#api/networking/v1/network-policy.ts";
import { ipWarnings, networkWarnings } from "./ip.ts";

const classAnnotation = "kubernetes.io/ingress.class";

export function* ingressWarnings(
  { metadata, spec }: Pick<Ingress, "metadata" | "spec">,
  old: unknown,
): Iterable<string> {
  if (old === undefined && metadata.annotations?.[classAnnotation] !== undefined && spec.ingressClassName === undefined)
    yield `annotation ${JSON.stringify(classAnnotation)} is deprecated, please use 'spec.ingressClassName' instead`;
}

export function* ingressStatusWarnings({ status }: Pick<Ingress, "status">): Iterable<string> {
  for (const [i, { ip }] of (status.loadBalancer.ingress ?? []).entries())
    if (ip) yield* ipWarnings(`status.loadBalancer.ingress[${i}]`, ip);
}

export function* networkPolicyWarnings({
  spec: { ingress = [], egress = [] },
}: Pick<NetworkPolicy, "spec">): Iterable<string> {
  for (const [i, { from }] of ingress.entries()) yield* peerWarnings(`spec.ingress[${i}].from`, from);
  for (const [i, { to }] of egress.entries()) yield* peerWarnings(`spec.egress[${i}].to`, to);
}

function* peerWarnings(path: string, peers: readonly NetworkPolicyPeer[] = []): Iterable<string> {
  for (const [i, { ipBlock }] of peers.entries()) {
    if (!ipBlock) continue;
    yield* networkWarnings(`${path}[${i}].ipBlock.cidr`, ipBlock.cidr);
    for (const [j, except] of (ipBlock.except ?? []).entries())
      yield* networkWarnings(`${path}[${i}].ipBlock.except[${j}]`, except);
  }
}
