// The spec of a pod, in a pod or in a template. Paths are relative to the spec.
// Upstream: pkg/apis/core/validation/validation.go.
import {
  byteLength,
  dns1123Label,
  dns1123Subdomain,
  dns1123SubdomainWithUnderscore,
  ipAnyForm,
  qualifiedName,
} from "#schema/formats.ts";
import { duplicate, forbidden, invalid, type Problem, required, tooLong } from "#schema/index.ts";
import { labelProblems } from "#schema/validate-metadata.ts";
import type { Amounts } from "../amounts.ts";
import type { HostAlias, PodDNSConfig, PodResourceClaim, PodSpec } from "../pod-spec.ts";
import { checkTolerations, spreadRepeats } from "./affinity.ts";
import { checkContainers } from "./containers.ts";
import { checkOs } from "./pod-os.ts";
import { each, hasRepeats, malformed, oneOf, under } from "./problems.ts";
import { checkAmounts, checkPodResources, containerResourceName, entries } from "./resources.ts";
import { checkSysctls } from "./security.ts";

export function checkPodSpec(spec: PodSpec): readonly Problem[] {
  const problems: Problem[] = [];
  if (spec.volumes && hasRepeats(spec.volumes, "name")) problems.push(...checkVolumeNames(spec));
  if (spec.resourceClaims) problems.push(...uniqueClaims(spec));
  problems.push(...checkContainers(spec));
  if (spec.resources) problems.push(...checkPodResources(spec, spec.resources));
  problems.push(...oneOf("restartPolicy", spec.restartPolicy, restartPolicies));
  problems.push(...oneOf("dnsPolicy", spec.dnsPolicy, dnsPolicies));
  if (spec.preemptionPolicy !== undefined)
    problems.push(...oneOf("preemptionPolicy", spec.preemptionPolicy, ["PreemptLowerPriority", "Never"]));
  if (spec.nodeSelector) problems.push(...labelProblems(spec.nodeSelector, "nodeSelector"));
  if (spec.securityContext.sysctls) problems.push(...checkSysctls(spec));
  if (spec.shareProcessNamespace || spec.hostUsers === false) problems.push(...checkNamespaces(spec));
  if (spec.dnsPolicy === "None") problems.push(...checkNoDns(spec));
  if (spec.readinessGates || spec.schedulingGates) problems.push(...checkGates(spec));
  if (spec.topologySpreadConstraints) problems.push(...spreadRepeats(spec.topologySpreadConstraints));
  if (spec.tolerations) problems.push(...checkTolerations("tolerations", spec.tolerations));
  if (spec.hostnameOverride !== undefined) problems.push(...checkHostname(spec, spec.hostnameOverride));
  if (spec.runtimeClassName !== undefined)
    problems.push(...malformed("runtimeClassName", spec.runtimeClassName, dns1123Subdomain));
  if (spec.overhead) problems.push(...checkOverhead(spec.overhead));
  for (const problem of checkOs(spec)) problems.push({ ...problem, isLast: true });
  return problems;
}

const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

function checkVolumeNames({ volumes }: PodSpec): readonly Problem[] {
  const found: Problem[] = [];
  const names = new Set<string>();
  for (const [at, { name }] of each("volumes", volumes)) {
    if (names.has(name)) found.push(duplicate(`${at}.name`));
    names.add(name);
  }
  return found;
}

export function* checkResourceClaim(claim: PodResourceClaim): Iterable<Problem> {
  const { name, resourceClaimName: own, resourceClaimTemplateName: template } = claim;
  if (name === "") yield required("name");
  else yield* malformed("name", name, dns1123Label);
  if (own !== undefined && template !== undefined)
    yield invalid("", "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
  if (own === undefined && template === undefined)
    yield invalid("", "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
  if (own !== undefined) yield* malformed("resourceClaimName", own, dns1123Subdomain);
  if (template !== undefined) yield* malformed("resourceClaimTemplateName", template, dns1123Subdomain);
}

function* uniqueClaims({ resourceClaims }: PodSpec): Iterable<Problem> {
  const names = new Set<string>();
  for (const [at, { name }] of each("resourceClaims", resourceClaims)) {
    if (name !== "" && names.has(name)) yield duplicate(`${at}.name`);
    names.add(name);
  }
}

/** Namespaces shared with the node, or among the containers. */
function* checkNamespaces(spec: PodSpec): Iterable<Problem> {
  if (spec.shareProcessNamespace && spec.hostPID)
    yield invalid(
      "securityContext.shareProcessNamespace",
      "ShareProcessNamespace and HostPID cannot both be enabled",
      true,
    );
  if (spec.hostUsers !== false) return;
  const why = "when `hostUsers` is false";
  if (spec.hostNetwork) yield forbidden("hostNetwork", why);
  if (spec.hostPID) yield forbidden("HostPID", why);
  if (spec.hostIPC) yield forbidden("HostIPC", why);
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const)
    for (const [at, { volumeDevices = [] }] of each(list, spec[list]))
      if (volumeDevices.length > 0) yield forbidden(`${at}.volumeDevices`, why);
}

const mostNameservers = 3;
const mostSearches = 32;
const mostSearchBytes = 2048;

function* checkNoDns({ dnsConfig }: PodSpec): Iterable<Problem> {
  if (!dnsConfig) yield required("dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None");
  else if (!dnsConfig.nameservers?.length)
    yield required("dnsConfig.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None");
}

export function* checkDnsConfig({ nameservers = [], searches = [], options }: PodDNSConfig): Iterable<Problem> {
  if (nameservers.length > mostNameservers)
    yield invalid("nameservers", `must not have more than ${mostNameservers} nameservers`);
  for (const [at, address] of each("nameservers", nameservers)) yield* malformed(at, address, ipAnyForm);
  if (searches.length > mostSearches) yield invalid("searches", `must not have more than ${mostSearches} search paths`);
  if (byteLength(searches.join(" ")) > mostSearchBytes)
    yield invalid(
      "searches",
      `must not have more than ${mostSearchBytes} characters (including spaces) in the search list`,
    );
  for (const [at, search] of each("searches", searches))
    if (search !== ".") yield* malformed(at, search.replace(/\.$/, ""), dns1123SubdomainWithUnderscore);
  for (const [at, { name }] of each("options", options)) if (!name) yield required(at, "must not be empty");
}

export function* checkHostAlias({ ip, hostnames }: HostAlias): Iterable<Problem> {
  yield* malformed("ip", ip, ipAnyForm);
  for (const [at, name] of each("hostnames", hostnames)) yield* malformed(at, name, dns1123Subdomain);
}

function* checkGates({ readinessGates, schedulingGates }: PodSpec): Iterable<Problem> {
  for (const [at, { conditionType }] of each("readinessGates", readinessGates))
    yield* malformed(`${at}.conditionType`, conditionType, qualifiedName);
  const names = new Set<string>();
  for (const [at, { name }] of each("schedulingGates", schedulingGates)) {
    yield* malformed(at, name, qualifiedName);
    if (names.has(name)) yield duplicate(at, name);
    names.add(name);
  }
}

const mostHostnameBytes = 64;

function* checkHostname({ setHostnameAsFQDN, hostNetwork }: PodSpec, name: string): Iterable<Problem> {
  if (setHostnameAsFQDN) yield forbidden("hostnameOverride", "may not be specified when setHostnameAsFQDN is true");
  if (hostNetwork) yield forbidden("hostnameOverride", "may not be specified when hostNetwork is true");
  if (byteLength(name) > mostHostnameBytes) yield tooLong("hostnameOverride", mostHostnameBytes);
  yield* malformed("hostnameOverride", name, dns1123Subdomain);
}

/** Judged as if it were limits of a container. */
function* checkOverhead(overhead: Amounts): Iterable<Problem> {
  for (const [at, name] of entries("overhead.limits", overhead)) yield* containerResourceName(at, name);
  yield* under("overhead", checkAmounts({ limits: overhead }));
}
