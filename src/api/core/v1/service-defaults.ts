// Defaults of services that depend on other fields.
import { filledIn } from "#schema/defaults.ts";
import type { Mutable } from "#schema/index.ts";
import type { ServiceSpec } from "./service.ts";

const affinitySeconds = 3 * 3600;

export function completeServiceSpec(spec: Mutable<ServiceSpec>): void {
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === "ClientIP" && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined)
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: affinitySeconds } };
  if (isReachedFromOutside(spec)) spec.externalTrafficPolicy ||= "Cluster";
  if (spec.type !== "ExternalName") spec.internalTrafficPolicy ??= "Cluster";
  if (spec.type === "LoadBalancer") spec.allocateLoadBalancerNodePorts ??= true;
  if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = filledIn([spec.clusterIP]);
}

type Reach = Pick<ServiceSpec, "type" | "externalIPs" | "externalTrafficPolicy">;

export const isReachedFromOutside = ({ type, externalIPs }: Reach): boolean =>
  type === "LoadBalancer" || type === "NodePort" || (type === "ClusterIP" && (externalIPs ?? []).length > 0);

/** Load balancers ask nodes whether they have a pod, since traffic stays where it comes in. */
export const needsHealthCheck = ({ type, externalTrafficPolicy }: Reach): boolean =>
  type === "LoadBalancer" && externalTrafficPolicy === "Local";

export const isHeadless = ({ clusterIPs }: Pick<ServiceSpec, "clusterIPs">): boolean =>
  clusterIPs?.length === 1 && clusterIPs[0] === "None";
