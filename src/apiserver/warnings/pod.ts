// Warnings about pods, and about templates of pods.
// Upstream: pkg/api/pod/warnings.go.
import type { PodAffinityTerm } from "#api/core/v1/affinity.ts";
import type { Container, ContainerPort, EphemeralContainer } from "#api/core/v1/container.ts";
import type { PodSpec, PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { dns1123Label, labelValue } from "#schema/formats.ts";
import type { ObjectMeta } from "#schema/object-meta.ts";
import { parseQuantity, quantityMilliValue } from "#schema/quantity.ts";
import { ipWarnings } from "./ip.ts";
import { deprecatedNodeLabel, nodeSelectorTermWarnings } from "./node-labels.ts";
import { isQuestionable, volumeWarnings } from "./pod-volumes.ts";

const quoted = JSON.stringify;

/** Of a name that pods and hosts get theirs from. */
export function* podNameWarnings(name: string): Iterable<string> {
  const why = dns1123Label(name);
  if (why.length > 0)
    yield `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${why.join(" ")}]`;
}

/** Of a template at `path`, such as `spec.template`. */
export const templateWarnings = (path: string, template: PodTemplateSpec): Iterable<string> =>
  podWarnings(`${path}.`, template);

type AnyPod = Pick<PodTemplateSpec, "metadata" | "spec">;

/**
 * `path` is empty, or ends with a dot. Every pod that is written comes here, and of most there is nothing to say: to find that out
 * without a generator and without a path is a fortieth of what a create costs.
 */
export const podWarnings = (path: string, pod: AnyPod): Iterable<string> =>
  isUsual(pod) ? nothing : allWarnings(path, pod);

const nothing: readonly string[] = [];

/** Whether there is surely nothing to say. */
function isUsual({ metadata, spec }: AnyPod): boolean {
  if (metadata.annotations || spec.nodeSelector || spec.affinity || spec.topologySpreadConstraints) return false;
  if (spec.hostAliases || spec.imagePullSecrets || spec.overhead || spec.dnsConfig) return false;
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0 || spec.volumes?.some(isQuestionable)) return false;
  for (const list of containerLists)
    for (const container of spec[list] ?? noContainers)
      if (hasFractions(container) || hasRepeatedVariables(container)) return false;
  return !hasSeveralPorts(spec);
}

function* allWarnings(path: string, pod: AnyPod): Iterable<string> {
  const { metadata, spec } = pod;
  if (spec.nodeSelector || spec.affinity || spec.topologySpreadConstraints) yield* placementWarnings(path, spec);
  if (metadata.annotations) yield* annotationWarnings(path, metadata);
  if (spec.volumes) yield* volumeWarnings(`${path}spec.volumes`, spec.volumes);
  if (spec.hostAliases || spec.imagePullSecrets) yield* listWarnings(path, spec);
  if (spec.overhead) yield* fractionWarnings(`${path}spec.overhead`, spec.overhead);
  if (metadata.annotations && !spec.securityContext.seccompProfile) yield* seccompWarnings(path, metadata, podSeccomp);
  const containers = allContainers(path, spec);
  for (const [at, container] of containers) yield* containerWarnings(path, at, container, pod);
  yield* portWarnings(containers);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0)
    yield `${path}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`;
  if (spec.affinity) yield* affinityWarnings(path, spec);
  for (const [i, server] of (spec.dnsConfig?.nameservers ?? []).entries())
    yield* ipWarnings(`${path}spec.dnsConfig.nameservers[${i}]`, server);
  for (const [i, { ip }] of (spec.hostAliases ?? []).entries())
    yield* ipWarnings(`${path}spec.hostAliases[${i}].ip`, ip);
}

type AnyContainer = Container | EphemeralContainer;

const containerLists = ["initContainers", "containers", "ephemeralContainers"] as const;
const noContainers: readonly AnyContainer[] = [];

function hasFractions({ resources }: AnyContainer): boolean {
  for (const which of amountKinds)
    for (const name of countedInBytes) {
      const amount = resources?.[which]?.[name];
      if (amount !== undefined && isFractional(amount)) return true;
    }
  return false;
}

/** Each is compared with those before it, as long as they are few. */
function hasRepeatedVariables({ env }: AnyContainer): boolean {
  if (!env || env.length < 2) return false;
  if (env.length > 16) return new Set(env.map(({ name }) => name)).size < env.length;
  for (let i = 1; i < env.length; i++)
    for (let before = 0; before < i; before++) if (env[before]?.name === env[i]?.name) return true;
  return false;
}

/** Whether there are ports that could be in each other's way, or one that names an address. */
function hasSeveralPorts(spec: PodSpec): boolean {
  let count = 0;
  for (const list of containerLists)
    for (const { ports } of spec[list] ?? noContainers) {
      if (ports?.[0]?.hostIP) return true;
      count += ports?.length ?? 0;
    }
  return count > 1;
}

function allContainers(path: string, spec: PodSpec): readonly (readonly [at: string, container: AnyContainer])[] {
  const all: (readonly [at: string, container: AnyContainer])[] = [];
  for (const list of containerLists)
    for (const [i, container] of (spec[list] ?? []).entries()) all.push([`${path}spec.${list}[${i}]`, container]);
  return all;
}

const noSelector = "a null labelSelector results in matching no pod";

function* placementWarnings(path: string, spec: PodSpec): Iterable<string> {
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    const why = deprecatedNodeLabel(key);
    if (why !== undefined) yield `${path}spec.nodeSelector[${key}]: ${why}`;
  }
  const at = `${path}spec.affinity.nodeAffinity`;
  const { requiredDuringSchedulingIgnoredDuringExecution: required, preferredDuringSchedulingIgnoredDuringExecution } =
    spec.affinity?.nodeAffinity ?? {};
  for (const [i, term] of (required?.nodeSelectorTerms ?? []).entries())
    yield* nodeSelectorTermWarnings(
      `${at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${i}]`,
      term,
    );
  for (const [i, { preference }] of (preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const term = `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}].preference`;
    yield* nodeSelectorTermWarnings(term, preference);
    for (const [k, { values = [] }] of (preference.matchExpressions ?? []).entries())
      for (const [n, value] of values.entries())
        for (const why of labelValue(value))
          yield `${term}.matchExpressions[${k}].values[${n}]: ${value} is invalid, ${why}`;
  }
  for (const [i, { topologyKey, labelSelector }] of (spec.topologySpreadConstraints ?? []).entries()) {
    const constraint = `${path}spec.topologySpreadConstraints[${i}]`;
    const why = deprecatedNodeLabel(topologyKey);
    if (why !== undefined) yield `${constraint}.topologyKey: ${topologyKey} is ${why}`;
    if (!labelSelector) yield `${constraint}.labelSelector: ${noSelector}`;
  }
}

function* affinityWarnings(path: string, { affinity }: PodSpec): Iterable<string> {
  for (const which of ["podAffinity", "podAntiAffinity"] as const) {
    const at = `${path}spec.affinity.${which}`;
    const terms = affinity?.[which];
    for (const [i, term] of (terms?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries())
      yield* termWarnings(`${at}.requiredDuringSchedulingIgnoredDuringExecution[${i}]`, term);
    for (const [i, { podAffinityTerm }] of (terms?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries())
      yield* termWarnings(
        `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}].podAffinityTerm`,
        podAffinityTerm,
      );
  }
}

function* termWarnings(path: string, { labelSelector }: PodAffinityTerm): Iterable<string> {
  if (!labelSelector) yield `${path}.labelSelector: ${noSelector}`;
}

const oldAnnotations: Readonly<Record<string, string>> = {
  "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
  "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
  "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
};
const podSeccomp = "seccomp.security.alpha.kubernetes.io/pod";
const containerSeccomp = "container.seccomp.security.alpha.kubernetes.io/";
const containerAppArmor = "container.apparmor.security.beta.kubernetes.io/";

const hasAnnotation = ({ annotations = {} }: ObjectMeta, name: string): boolean => Object.hasOwn(annotations, name);

function* annotationWarnings(path: string, metadata: ObjectMeta): Iterable<string> {
  for (const [name, words] of Object.entries(oldAnnotations))
    if (hasAnnotation(metadata, name)) yield `${path}metadata.annotations[${name}]: ${words}`;
}

function* seccompWarnings(path: string, metadata: ObjectMeta, name: string): Iterable<string> {
  if (hasAnnotation(metadata, name))
    yield `${path}metadata.annotations[${name}]: non-functional in v1.27+; use the "seccompProfile" field instead`;
}

/** Names that a list has twice, though nothing refuses that. */
function* listWarnings(path: string, { hostAliases = [], imagePullSecrets = [] }: PodSpec): Iterable<string> {
  const ips = hostAliases.map(({ ip }) => ip);
  for (const i of repetitions(ips)) yield `${path}spec.hostAliases[${i}].ip: duplicate ip ${quoted(ips[i] ?? "")}`;
  const names = imagePullSecrets.map(({ name = "" }) => name);
  const at = (i: number) => `${path}spec.imagePullSecrets[${i}].name`;
  for (const i of repetitions(names)) yield `${at(i)}: duplicate name ${quoted(names[i] ?? "")}`;
  for (const [i, name] of names.entries()) if (name === "") yield `${at(i)}: invalid empty name ""`;
}

/** The positions of texts that stand further ahead as well. */
function* repetitions(texts: readonly string[]): Iterable<number> {
  const before = new Set<string>();
  for (const [i, text] of texts.entries()) {
    if (before.has(text)) yield i;
    before.add(text);
  }
}

const countedInBytes = ["memory", "ephemeral-storage"];

function* fractionWarnings(path: string, amounts: Readonly<Record<string, string>>): Iterable<string> {
  for (const name of countedInBytes) {
    const amount = amounts[name];
    if (amount !== undefined && isFractional(amount))
      yield `${path}[${name}]: fractional byte value ${quoted(amount)} is invalid, must be an integer`;
  }
}

/** How nearly all amounts are written. */
const wholeAmount = /^\d+(?:k|[KMGTPE]i|[MGTPE])?$/;

const isFractional = (amount: string): boolean =>
  !wholeAmount.test(amount) && quantityMilliValue(parseQuantity(amount)) % 1000n !== 0n;

function* containerWarnings(
  path: string,
  at: string,
  { name, securityContext, resources, env = [] }: AnyContainer,
  { metadata, spec }: Pick<PodTemplateSpec, "metadata" | "spec">,
): Iterable<string> {
  if (metadata.annotations) {
    if (!securityContext?.seccompProfile) yield* seccompWarnings(path, metadata, containerSeccomp + name);
    const profile = containerAppArmor + name;
    if (!securityContext?.appArmorProfile && !spec.securityContext.appArmorProfile && hasAnnotation(metadata, profile))
      yield `${path}metadata.annotations[${profile}]: deprecated since v1.30; use the "appArmorProfile" field instead`;
  }
  for (const resource of countedInBytes)
    for (const which of amountKinds) {
      const amount = resources?.[which]?.[resource];
      if (amount !== undefined && isFractional(amount))
        yield* fractionWarnings(`${at}.resources.${which}`, { [resource]: amount });
    }
  if (env.length > 1) yield* environmentWarnings(at, env);
}

const amountKinds = ["limits", "requests"] as const;

function* environmentWarnings(at: string, env: NonNullable<AnyContainer["env"]>): Iterable<string> {
  const names = new Set<string>();
  for (const [i, variable] of env.entries()) {
    const { value = "", valueFrom } = variable;
    const reference = `$(${variable.name})`;
    // A value that is made of the one before is no mistake.
    const hides = valueFrom !== undefined || value === reference || !value.includes(reference);
    if (names.has(variable.name) && hides)
      yield `${at}.env[${i}]: hides previous definition of ${quoted(variable.name)}, which may be dropped when using apply`;
    names.add(variable.name);
  }
}

interface Port {
  readonly at: string;
  readonly hostPort: number;
  readonly hostIP: string;
}

/** A port is compared with so many definitions of the same number at most: all of them would be the square of their number. */
const mostComparisons = 16;

function* portWarnings(containers: readonly (readonly [at: string, container: AnyContainer])[]): Iterable<string> {
  const ports: (readonly [at: string, port: ContainerPort])[] = [];
  for (const [at, container] of containers)
    for (const [i, port] of (container.ports ?? []).entries()) ports.push([`${at}.ports[${i}]`, port]);
  if (ports.length < 2 && !ports[0]?.[1].hostIP) return;
  const portsByNumber = new Map<string, Port[]>();
  for (const [at, { name = "", containerPort, protocol, hostPort = 0, hostIP = "" }] of ports) {
    if (hostIP !== "" && hostPort === 0)
      yield `${at}: hostIP set without hostPort: {Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;
    const others = portsByNumber.get(`${containerPort}/${protocol}`) ?? [];
    for (const other of others) {
      const how = likeness({ at, hostPort, hostIP }, other);
      if (how) yield `${at}: ${how} port definition with ${other.at}`;
    }
    if (others.length < mostComparisons) others.push({ at, hostPort, hostIP });
    portsByNumber.set(`${containerPort}/${protocol}`, others);
  }
  const names = new Map<string, string>();
  for (const [at, { name }] of ports) {
    if (!name) continue;
    const other = names.get(name);
    if (other === undefined) names.set(name, at);
    else
      yield `${at}: duplicate port name ${quoted(name)} with ${other}, services and probes that select ports by name will use ${other}`;
  }
}

/** What two definitions of one port are to each other, if that is a reason to warn. */
function likeness(port: Port, other: Port): string | undefined {
  if (port.hostIP === other.hostIP && port.hostPort === other.hostPort) return "duplicate";
  if (port.hostPort === 0 || other.hostPort === 0) return "overlapping";
  return port.hostPort === other.hostPort && (port.hostIP === "") !== (other.hostIP === "")
    ? "dangerously ambiguous"
    : undefined;
}
