// What network policies see of a pod.
// Upstream: pkg/api/v1/pod/util.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { hasEnded } from "#rules/pods.ts";
import { formatIp, parseIp } from "#schema/ip.ts";
import type { Labels } from "#schema/selector.ts";
import type { PolicyFamily } from "./ip-blocks.ts";

export interface PolicyPod {
  readonly namespace: string;
  readonly labels: Labels;
  readonly addresses: readonly PodAddress[];
  readonly ports: readonly { readonly name: string; readonly protocol: string; readonly port: number }[];
  /** Whether it is on this node, which then limits its connections. */
  readonly isLocal: boolean;
}

export interface PodAddress {
  readonly family: PolicyFamily;
  readonly text: string;
}

/**
 * Undefined for a pod that no policy is about: one on the network of its node, whose address is not its own, and one that has ended or has
 * no address yet.
 */
export function policyPodOf(pod: Pod, node: string): PolicyPod | undefined {
  const { metadata, spec, status } = pod;
  if (spec.hostNetwork || hasEnded(pod)) return undefined;
  const texts = (status.podIPs ?? []).map(({ ip }) => ip);
  const addresses = (texts.length === 0 && status.podIP ? [status.podIP] : texts).flatMap(addressOf);
  if (addresses.length === 0) return undefined;
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  const ports = [...spec.containers, ...sidecars].flatMap(({ ports: all = [] }) =>
    all.flatMap(({ name, protocol, containerPort }) =>
      name ? [{ name, protocol: protocol ?? "TCP", port: containerPort }] : [],
    ),
  );
  const isLocal = spec.nodeName === node;
  return { namespace: metadata.namespace ?? "", labels: metadata.labels ?? {}, addresses, ports, isLocal };
}

function addressOf(text: string): readonly PodAddress[] {
  const ip = parseIp(text);
  return ip ? [{ family: ip.family, text: formatIp(ip) }] : [];
}

/** A pod's status changes often, and seldom in what matters here. */
export const isSamePolicyPod = (a: PolicyPod | undefined, b: PolicyPod | undefined): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b);
