// Warnings about accepted services.
// Upstream: pkg/api/service/warnings.go.
import type { Service } from "#api/core/v1/service.ts";
import { ipWarnings, networkWarnings } from "../../warnings/ip.ts";

const hints = "service.kubernetes.io/topology-aware-hints";
const mode = "service.kubernetes.io/topology-mode";

export function* serviceWarnings({ metadata, spec }: Service): Iterable<string> {
  const { type, clusterIP = "", clusterIPs = [], externalIPs = [], loadBalancerIP = "" } = spec;
  const isHeadless = type === "ClusterIP" && clusterIP === "None";
  if (metadata.annotations?.[hints] !== undefined)
    yield `annotation ${hints} is deprecated, please use ${mode} instead`;
  if (clusterIP !== "None") for (const [i, ip] of clusterIPs.entries()) yield* ipWarnings(`spec.clusterIPs[${i}]`, ip);
  if (isHeadless) {
    if (loadBalancerIP !== "") yield "spec.loadBalancerIP is ignored for headless services";
    if (externalIPs.length > 0) yield "spec.externalIPs is ignored for headless services";
    if (spec.sessionAffinity !== "None") yield "spec.SessionAffinity is ignored for headless services";
  }
  for (const [i, ip] of externalIPs.entries()) yield* ipWarnings(`spec.externalIPs[${i}]`, ip);
  if (externalIPs.length > 0 && !isHeadless && type !== "ExternalName")
    yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
  if (loadBalancerIP !== "") yield* ipWarnings("spec.loadBalancerIP", loadBalancerIP);
  for (const [i, range] of (spec.loadBalancerSourceRanges ?? []).entries())
    yield* networkWarnings(`spec.loadBalancerSourceRanges[${i}]`, range);
  if (type === "ExternalName" && externalIPs.length > 0)
    yield 'spec.externalIPs is ignored when spec.type is "ExternalName"';
  if (type !== "ExternalName" && spec.externalName)
    yield 'spec.externalName is ignored when spec.type is not "ExternalName"';
  if (spec.trafficDistribution === "PreferClose")
    yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"';
}
