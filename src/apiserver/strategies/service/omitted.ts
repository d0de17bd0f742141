// What a client that sends a service again may leave out: it gets back what it was given before.
// Upstream: pkg/registry/core/service/storage/storage.go and pkg/registry/core/service/strategy.go.
import type { ServicePort, ServiceSpec } from "#api/core/v1/service.ts";
import { needsHealthCheck } from "#api/core/v1/service-defaults.ts";
import type { Mutable } from "#schema/index.ts";
import { sameList } from "./families.ts";

export const hasNodePorts = ({ type }: ServiceSpec): boolean => type === "NodePort" || type === "LoadBalancer";

/** Whether ports that ask for none get a node port all the same. */
export const getsNodePorts = ({ type, allocateLoadBalancerNodePorts }: ServiceSpec): boolean =>
  type === "NodePort" || (type === "LoadBalancer" && allocateLoadBalancerNodePorts !== false);

export const nodePortsOf = ({ ports = [] }: ServiceSpec): readonly number[] =>
  ports.map(({ nodePort = 0 }) => nodePort).filter((port) => port !== 0);

/** So that the same text can be applied again and again. */
export function keepAllocated(spec: Mutable<ServiceSpec>, old: ServiceSpec): void {
  if (spec.type !== "ExternalName" && old.type !== "ExternalName") {
    if (!spec.clusterIP && old.clusterIP) spec.clusterIP = old.clusterIP;
    if (!spec.clusterIPs?.length && old.clusterIPs?.length) spec.clusterIPs = [...old.clusterIPs];
  }
  if (getsNodePorts(spec) && getsNodePorts(old)) keepNodePorts(spec, old);
  if (needsHealthCheck(spec) && needsHealthCheck(old) && old.healthCheckNodePort)
    spec.healthCheckNodePort ||= old.healthCheckNodePort;
}

/** By the name of the port, unless another port has taken the number over. */
function keepNodePorts(spec: Mutable<ServiceSpec>, old: ServiceSpec): void {
  const asked = new Set(nodePortsOf(spec));
  const before = new Map((old.ports ?? []).map(({ name = "", nodePort = 0 }) => [name, nodePort]));
  spec.ports = spec.ports?.map((port): ServicePort => {
    const known = port.nodePort ? 0 : (before.get(port.name ?? "") ?? 0);
    return known === 0 || asked.has(known) ? port : { ...port, nodePort: known };
  });
}

/** Brings clusterIP and clusterIPs in line: old clients only know the former, and mean both when they change it. */
export function settleAddresses(spec: Mutable<ServiceSpec>, old: ServiceSpec | undefined): void {
  const { clusterIP = "", clusterIPs = [] } = spec;
  if (!old) {
    if (clusterIP !== "" && clusterIPs.length === 0) spec.clusterIPs = [clusterIP];
    return;
  }
  const before = old.clusterIP ?? "";
  if (clusterIP === before) {
    if (clusterIPs.length === 0 && old.clusterIPs?.length) spec.clusterIPs = [...old.clusterIPs];
  } else if (sameList(clusterIPs, old.clusterIPs)) {
    if (clusterIP === "") delete spec.clusterIPs;
    else spec.clusterIPs = [clusterIP];
  }
}
