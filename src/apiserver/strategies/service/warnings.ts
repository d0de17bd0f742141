// What a client should know about a service that is taken all the same.
import type { Service } from "#api/core/v1/service.ts";
import { formatIp, parseCidr, parseIp } from "#schema/ip.ts";

const hints = "service.kubernetes.io/topology-aware-hints";
const mode = "service.kubernetes.io/topology-mode";
const quoted = JSON.stringify;

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

/** Spellings that some readers take for another address, or for none. */
function* ipWarnings(at: string, text: string): Iterable<string> {
  const ip = parseIp(text);
  if (!ip) return;
  const usual = formatIp(ip);
  if (ip.leadingZeros || ip.mapped)
    yield `${at}: non-standard IP address ${quoted(text)} is invalid: use ${quoted(usual)}`;
  else if (ip.family === 6 && usual !== text)
    yield `${at}: IPv6 address ${quoted(text)} should be in RFC 5952 canonical format (${quoted(usual)})`;
}

function* networkWarnings(at: string, text: string): Iterable<string> {
  const cidr = parseCidr(text);
  if (!cidr) return;
  const { address, length, network } = cidr;
  const { family } = address;
  const usual = `${formatIp({ family, value: network })}/${length}`;
  const isAmbiguous = address.value !== network;
  const isOdd = cidr.leadingZeros || address.mapped;
  if (isAmbiguous)
    yield `${at}: CIDR value ${quoted(text)} is ambiguous in this context (should be ${quoted(usual)} or ${quoted(`${formatIp(address)}/${family === 4 ? 32 : 128}`)}?)`;
  if (isOdd) yield `${at}: non-standard CIDR value ${quoted(text)} is invalid: use ${quoted(usual)}`;
  if (!isAmbiguous && !isOdd && family === 6 && usual !== text)
    yield `${at}: IPv6 CIDR value ${quoted(text)} should be in RFC 5952 canonical format (${quoted(usual)})`;
}
