// Updates of a pod's status.
// Upstream: pkg/apis/core/validation/validation.go.
import { firstByName } from "#base/collections.ts";
import { byteLength, dns1123Label, dns1123Subdomain, ipAnyForm, qualifiedName, rangeMessage } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, notSupported, type Problem, required, tooLong } from "#schema/index.ts";
import { parseIp } from "#schema/ip.ts";
import { amountOf } from "../amounts.ts";
import type { Container } from "../container.ts";
import type { ContainerStatus } from "../container-status.ts";
import type { Pod, PodStatus } from "../pod.ts";
import type { PodSpec } from "../pod-spec.ts";
import { checkAnnotationsKept } from "./pod.ts";
import { checkPodAnnotations } from "./pod-template.ts";
import { each, malformed, under } from "./problems.ts";

export function* checkPodStatus(pod: Pod, old: Pod): Iterable<Problem> {
  yield* checkAnnotationsKept(pod, old);
  yield* under("metadata.annotations", checkPodAnnotations(pod.metadata.annotations, pod.spec));
  yield* checkConditions(pod.status);
  yield* checkNomination(pod, old);
  if ((pod.status.observedGeneration ?? 0) < 0)
    yield invalid("status.observedGeneration", "must be a non-negative integer");
  if ((pod.status.qosClass ?? "") !== (old.status.qosClass ?? ""))
    yield invalid("status.qosClass", "field is immutable");
  yield* checkTransitions(pod, old);
  yield* checkClaimStatuses(pod);
  yield* checkAddresses("status.podIPs", pod.status.podIPs, old.status.podIPs);
  yield* checkHostAddresses(pod, old);
  for (const list of ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const)
    yield* checkUsers(`status.${list}`, pod.status[list], pod.spec.os?.name);
  yield* checkAllocated("status.containerStatuses", pod.status.containerStatuses, pod.spec.containers);
  yield* checkAllocated("status.initContainerStatuses", pod.status.initContainerStatuses, pod.spec.initContainers);
  for (const [at, { allocatedResourcesStatus }] of each(
    "status.ephemeralContainerStatuses",
    pod.status.ephemeralContainerStatuses,
  ))
    if (allocatedResourcesStatus?.length)
      yield forbidden(`${at}.allocatedResourcesStatus`, "must not be specified in container status");
}

const systemConditions = new Set(["PodScheduled", "Ready", "Initialized"]);

function* checkConditions({ conditions }: PodStatus): Iterable<Problem> {
  for (const [at, { type, observedGeneration = 0 }] of each("status.conditions", conditions)) {
    if (observedGeneration < 0) yield invalid(`${at}.observedGeneration`, "must be a non-negative integer");
    if (!systemConditions.has(type)) yield* malformed(`${at}.Type`, type, qualifiedName);
  }
}

function* checkNomination({ spec, status }: Pod, old: Pod): Iterable<Problem> {
  if (spec.nodeName !== old.spec.nodeName) yield forbidden("status.nodeName", "may not be changed directly");
  const nominated = status.nominatedNodeName;
  if (!nominated || nominated === old.status.nominatedNodeName) return;
  yield* malformed("status.nominatedNodeName", nominated, dns1123Subdomain);
  if (old.spec.nodeName)
    yield forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node");
}

/** A container that will not be started again cannot leave its end behind. */
function* checkTransitions({ status }: Pod, { spec, status: before }: Pod): Iterable<Problem> {
  yield* revived(
    "status.ephemeralContainerStatuses",
    status.ephemeralContainerStatuses,
    before.ephemeralContainerStatuses,
  );
  if (restartsTogether(spec)) return;
  const containers = firstByName(spec.containers);
  yield* revived("status.containerStatuses", status.containerStatuses, before.containerStatuses, (name, exitCode) =>
    mayRestart(spec, containers.get(name), exitCode),
  );
  const initContainers = firstByName(spec.initContainers);
  yield* revived(
    "status.initContainerStatuses",
    status.initContainerStatuses,
    before.initContainerStatuses,
    (name, exitCode) => mayRestart(spec, initContainers.get(name), exitCode),
  );
}

function* revived(
  path: string,
  statuses: readonly ContainerStatus[] | undefined,
  before: readonly ContainerStatus[] | undefined,
  isAllowed: (name: string, exitCode: number) => boolean = () => false,
): Iterable<Problem> {
  const present = firstByName(statuses);
  for (const [at, { name, state }] of each(path, before)) {
    const now = present.get(name);
    if (state.terminated && now && !now.state.terminated && !isAllowed(name, state.terminated.exitCode))
      yield forbidden(`${at}.state`, "may not be transitioned to non-terminated state");
  }
}

const restartsTogether = ({ containers, initContainers = [] }: PodSpec): boolean =>
  [...initContainers, ...containers].some(({ restartPolicyRules }) =>
    restartPolicyRules?.some(({ action }) => action === "RestartAllContainers"),
  );

/** Whether a container that ended so is started again. */
export function mayRestart(
  { restartPolicy }: Pick<PodSpec, "restartPolicy">,
  container: Pick<Container, "restartPolicy" | "restartPolicyRules"> | undefined,
  exitCode: number,
): boolean {
  if (!container) return false;
  const decides = container.restartPolicyRules?.some(
    ({ exitCodes }) => exitCodes && (exitCodes.values ?? []).includes(exitCode) === (exitCodes.operator === "In"),
  );
  if (container.restartPolicy !== undefined && decides) return true;
  const policy = container.restartPolicy ?? restartPolicy;
  return policy === "OnFailure" ? exitCode !== 0 : policy !== "Never";
}

function* checkClaimStatuses({ spec, status }: Pod): Iterable<Problem> {
  const names = new Set<string>();
  const claims = firstByName(spec.resourceClaims);
  for (const [at, { name, resourceClaimName }] of each("status.resourceClaimStatuses", status.resourceClaimStatuses)) {
    if (!claims.has(name)) yield invalid(`${at}.name`, "must match the name of an entry in `spec.resourceClaims`");
    if (names.has(name)) yield duplicate(`${at}.name`);
    names.add(name);
    if (resourceClaimName !== undefined)
      yield* malformed(`${at}.resourceClaimName`, resourceClaimName, dns1123Subdomain);
  }
  const extended = status.extendedResourceClaimStatus;
  if (!extended) return;
  const path = "status.extendedResourceClaimStatus";
  if (extended.requestMappings.length === 0)
    yield required(`${path}.requestMappings`, "at least one request mapping is required");
  const containers = firstByName([...(spec.initContainers ?? []), ...spec.containers]);
  const seen = new Set<string>();
  for (const [at, mapping] of each(`${path}.requestMappings`, extended.requestMappings)) {
    const container = containers.get(mapping.containerName);
    if (!container)
      yield invalid(
        `${at}.containerName`,
        "must match the name of an entry in spec.initContainers.name or spec.containers.name",
      );
    else if (amountOf(container.resources.requests, mapping.resourceName) === undefined)
      yield invalid(
        `${at}.resourceName`,
        "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests",
      );
    yield* malformed(`${path}.requestName`, mapping.requestName, dns1123Label);
    const key = JSON.stringify([mapping.containerName, mapping.resourceName, mapping.requestName]);
    if (seen.has(key))
      for (const field of ["containerName", "resourceName", "requestName"]) yield duplicate(`${at}.${field}`);
    seen.add(key);
  }
  if (extended.resourceClaimName === "") yield required(`${path}.resourceClaimName`);
  else yield* malformed(`${path}.resourceClaimName`, extended.resourceClaimName, dns1123Subdomain);
}

type Addresses = readonly { readonly ip: string }[] | undefined;

/** New addresses must be proper ones, and at most one of each family. */
function* checkAddresses(path: string, addresses: Addresses, before: Addresses): Iterable<Problem> {
  const known = new Set(before?.map(({ ip }) => ip));
  for (const [at, { ip }] of each(path, addresses)) if (!known.has(ip)) yield* malformed(at, ip, ipAnyForm);
  if ((addresses ?? []).length < 2) return;
  const families = new Set(addresses?.map(({ ip }) => parseIp(ip)?.family));
  if (families.size < 2 || (addresses ?? []).length > 2)
    yield invalid(
      path,
      "may specify no more than one IP for each IP family",
      addresses?.map(({ ip }) => ({ IP: ip })),
    );
}

function* checkHostAddresses({ status }: Pod, old: Pod): Iterable<Problem> {
  const first = status.hostIPs?.[0];
  if (!first) return;
  if ((status.hostIP ?? "") !== first.ip) yield invalid("status.hostIPs[0].ip", "must be equal to `hostIP`");
  yield* checkAddresses("status.hostIPs", status.hostIPs, old.status.hostIPs);
}

const mostId = 2 ** 31 - 1;

function* checkUsers(
  path: string,
  statuses: readonly ContainerStatus[] | undefined,
  os: string | undefined,
): Iterable<Problem> {
  for (const [at, { user }] of each(path, statuses)) {
    if (!user?.linux) continue;
    if (os === "windows") yield forbidden(`${at}.user.linux`, "cannot be set for a windows pod");
    else {
      const { uid, gid, supplementalGroups = [] } = user.linux;
      for (const [name, id] of [
        ["uid", uid],
        ["gid", gid],
        ...supplementalGroups.map((group, i) => [`supplementalGroups[${i}]`, group] as const),
      ] as const)
        if (id < 0 || id > mostId) yield invalid(`${at}.user.linux.${name}`, rangeMessage(0, mostId));
    }
  }
}

const healths = ["Healthy", "Unhealthy", "Unknown"];
const mostMessageBytes = 1024;

function* checkAllocated(
  path: string,
  statuses: readonly ContainerStatus[] | undefined,
  containers: readonly Container[] | undefined,
): Iterable<Problem> {
  const byName = firstByName(containers);
  for (const [at, { name, allocatedResourcesStatus }] of each(path, statuses)) {
    const container = byName.get(name);
    for (const [place, allocated] of each(`${at}.allocatedResourcesStatus`, allocatedResourcesStatus)) {
      if (container) yield* allocatedName(`${place}.name`, allocated.name, container);
      const ids = new Set<string>();
      for (const [where, { resourceID, health = "", message }] of each(`${place}.resources`, allocated.resources)) {
        if (!healths.includes(health)) yield notSupported(`${where}.health`, healths, health);
        if (message === "") yield required(`${where}.message`, "must be non-empty if specified");
        else if (message !== undefined && byteLength(message) > mostMessageBytes)
          yield tooLong(`${where}.message`, mostMessageBytes);
        if (ids.has(resourceID)) yield duplicate(`${where}.resourceID`);
        ids.add(resourceID);
      }
    }
  }
}

function* allocatedName(at: string, name: string, { resources }: Container): Iterable<Problem> {
  if (!name.startsWith("claim:")) {
    if (amountOf(resources.requests, name) === undefined)
      yield invalid(at, "must match one of the container's resource requests");
    return;
  }
  const claims = (resources.claims ?? []).map((claim) =>
    claim.request ? `claim:${claim.name}/${claim.request}` : `claim:${claim.name}`,
  );
  if (!claims.includes(name))
    yield invalid(
      at,
      "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty",
    );
}
