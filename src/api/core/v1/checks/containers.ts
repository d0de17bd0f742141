// The containers of a pod: among each other, and with the volumes and settings of the pod.
// Upstream: pkg/apis/core/validation/validation.go.
import { duplicate, forbidden, invalid, notFound, notSupported, type Problem } from "#schema/index.ts";
import { isSidecar } from "../amounts.ts";
import type { Container, EphemeralContainer } from "../container.ts";
import type { PodSpec } from "../pod-spec.ts";
import type { Volume } from "../volume.ts";
import { checkProbes, checkSleeps } from "./probes.ts";
import { byName, each, hasRepeats, isEmpty, none, under } from "./problems.ts";
import { checkClaims } from "./resources.ts";

type AnyContainer = Container | EphemeralContainer;

const noContainers: readonly AnyContainer[] = [];

/** Whether any container is so. */
export const anyContainer = (spec: PodSpec, isSo: (container: AnyContainer) => boolean): boolean =>
  (spec.initContainers ?? noContainers).some(isSo) ||
  spec.containers.some(isSo) ||
  (spec.ephemeralContainers ?? noContainers).some(isSo);

/** Every container with its path, in the order upstream visits them. */
export function allContainers(
  spec: Pick<PodSpec, "initContainers" | "containers" | "ephemeralContainers">,
): readonly (readonly [at: string, container: AnyContainer])[] {
  const regular = each("containers", spec.containers);
  if (!spec.initContainers && !spec.ephemeralContainers) return regular;
  return [
    ...each("initContainers", spec.initContainers),
    ...regular,
    ...each("ephemeralContainers", spec.ephemeralContainers),
  ];
}

export function checkContainers(spec: PodSpec): readonly Problem[] {
  const problems: Problem[] = [];
  const volumeOf = byName(spec.volumes ?? none);
  for (const [at, container] of allContainers(spec)) {
    problems.push(...under(at, withVolumes(container, volumeOf)));
    if (container.resources.claims)
      problems.push(...under(`${at}.resources`, checkClaims(container.resources.claims, claimsOf(spec))));
    problems.push(...under(at, withSettings(container, spec)));
  }
  problems.push(...checkRegular(spec));
  if (spec.initContainers) problems.push(...checkInit(spec));
  if (spec.ephemeralContainers) problems.push(...checkEphemeral(spec));
  return problems;
}

const claimsOf = ({ resourceClaims = [] }: PodSpec): ReadonlySet<string> =>
  new Set(resourceClaims.map(({ name }) => name).filter((name) => name !== ""));

/** A volume that has problems is none for those who mount it. */
export function* mountsOfRefusedVolumes(spec: PodSpec, problems: readonly Problem[]): Iterable<Problem> {
  const indexes = new Set(problems.map(({ field }) => Number(/^volumes\[(\d+)\]/.exec(field)?.[1])));
  const { volumes = [] } = spec;
  const sound = new Set(volumes.filter((_, i) => !indexes.has(i)).map(({ name }) => name));
  const refused = new Set(volumes.map(({ name }) => name).filter((name) => !sound.has(name)));
  if (refused.size === 0) return;
  for (const list of ["containers", "initContainers", "ephemeralContainers"] as const)
    for (const [at, container] of each<Container | EphemeralContainer>(list, spec[list]))
      for (const [mount, { name }] of each(`${at}.volumeMounts`, container.volumeMounts))
        if (refused.has(name)) yield notFound(`${mount}.name`, name);
}

/** What a container wants of the pod's volumes. */
function withVolumes(container: AnyContainer, volumeOf: (name: string) => Volume | undefined): readonly Problem[] {
  const problems: Problem[] = [];
  container.volumeMounts?.forEach(({ name }, i) => {
    if (!volumeOf(name)) problems.push(notFound(`volumeMounts[${i}].name`));
  });
  for (const [at, { name }] of each("volumeDevices", container.volumeDevices)) {
    const volume = volumeOf(name);
    if (!volume) problems.push(notFound(`${at}.name`));
    else if (!volume.persistentVolumeClaim && !volume.ephemeral)
      problems.push(
        invalid(`${at}.name`, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"),
      );
  }
  if (!container.env?.some(({ valueFrom }) => valueFrom?.fileKeyRef)) return problems;
  for (const [at, { valueFrom }] of each("env", container.env)) {
    const file = valueFrom?.fileKeyRef;
    if (!file) continue;
    const path = `${at}.valueFrom.fileKeyRef.volumeName`;
    const volume = volumeOf(file.volumeName);
    if (!volume) problems.push(notFound(path));
    else if (!volume.emptyDir) problems.push(invalid(path, "referenced volume must be of type emptyDir"));
  }
  return problems;
}

/** What of a container depends on settings of the pod. */
function withSettings(container: AnyContainer, spec: PodSpec): readonly Problem[] {
  const found: Problem[] = [];
  if (spec.restartPolicy === "Never")
    for (const { restartPolicy } of container.resizePolicy ?? [])
      if (restartPolicy !== "NotRequired")
        found.push(invalid("resizePolicy", "must be 'NotRequired' when pod `restartPolicy` is 'Never'", restartPolicy));
  if (container.securityContext?.procMount === "Unmasked" && spec.hostUsers !== false)
    found.push(invalid("securityContext.procMount", "`hostUsers` must be false to use `Unmasked`"));
  return found;
}

function checkRegular(spec: PodSpec): readonly Problem[] {
  const problems: Problem[] = [];
  const names = hasRepeats(spec.containers, "name") ? new Set<string>() : undefined;
  for (const [at, container] of each("containers", spec.containers)) {
    if (names?.has(container.name)) problems.push(duplicate(`${at}.name`));
    names?.add(container.name);
    problems.push(...under(at, checkProbes(container)));
    if (!container.lifecycle) continue;
    problems.push(...under(at, checkSleeps(container.lifecycle, spec.terminationGracePeriodSeconds)));
    problems.push(...under(at, checkStopSignal(container, spec)));
  }
  problems.push(...hostPorts("containers", spec.containers));
  if (!spec.hostNetwork) return problems;
  for (const [at, { ports }] of each("containers", spec.containers))
    for (const [path, { hostPort, containerPort }] of each(`${at}.ports`, ports))
      if (hostPort && hostPort !== containerPort)
        problems.push(invalid(`${path}.hostPort`, "must match `containerPort` when `hostNetwork` is true"));
  return problems;
}

const sidecarFields = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const;

function* checkInit(spec: PodSpec): Iterable<Problem> {
  const names = new Set(spec.containers.map(({ name }) => name));
  for (const [at, container] of each("initContainers", spec.initContainers)) {
    if (names.has(container.name)) yield duplicate(`${at}.name`);
    else if (container.name !== "") names.add(container.name);
    // They run one by one, so each is looked at alone.
    yield* hostPorts("initContainers", [container]);
    if (isSidecar(container)) {
      yield* under(at, checkProbes(container));
      if (container.lifecycle) yield* under(at, checkSleeps(container.lifecycle, spec.terminationGracePeriodSeconds));
      yield* under(at, checkStopSignal(container, spec));
      continue;
    }
    for (const name of sidecarFields)
      if (container[name] !== undefined)
        yield forbidden(`${at}.${name}`, "may not be set for init containers without restartPolicy=Always");
    for (const [path, { restartPolicy }] of each(`${at}.resizePolicy`, container.resizePolicy))
      if (restartPolicy === "RestartContainer")
        yield invalid(`${path}.restartPolicy`, "must not be set to 'RestartContainer' for non-sidecar initContainers");
  }
}

function hostPorts(path: string, containers: readonly Container[]): readonly Problem[] {
  if (!containers.some(({ ports }) => ports?.some(({ hostPort }) => hostPort))) return none;
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const [at, { ports }] of each(path, containers))
    for (const [portAt, { protocol, hostIP = "", hostPort }] of each(`${at}.ports`, ports)) {
      if (!hostPort) continue;
      const place = `${protocol}/${hostIP}/${hostPort}`;
      if (seen.has(place)) problems.push(duplicate(`${portAt}.hostPort`, place));
      seen.add(place);
    }
  return problems;
}

function* checkStopSignal({ lifecycle }: Container, { os }: PodSpec): Iterable<Problem> {
  const signal = lifecycle?.stopSignal;
  if (signal === undefined) return;
  if (!os) yield forbidden("lifecycle.stopSignal", "may not be set for containers with empty `spec.os.name`");
  else if (os.name === "windows" && signal !== "SIGKILL" && signal !== "SIGTERM")
    yield notSupported("lifecycle.stopSignal", ["SIGKILL", "SIGTERM"]);
}

/** An ephemeral container must not be relied upon, so it has no ports, probes or resources of its own. */
const notEphemeral = [
  "ports",
  "resources",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
] as const;

function* checkEphemeral(spec: PodSpec): Iterable<Problem> {
  const others = new Set([...spec.containers, ...(spec.initContainers ?? [])].map(({ name }) => name));
  const names = new Set(others);
  for (const [at, container] of each("ephemeralContainers", spec.ephemeralContainers)) {
    if (names.has(container.name)) yield duplicate(`${at}.name`);
    names.add(container.name);
    if (container.targetContainerName && !others.has(container.targetContainerName))
      yield notFound(`${at}.targetContainerName`);
    yield* imageSpace(at, container);
    for (const name of notEphemeral) {
      const value = container[name];
      if (value !== undefined && !(typeof value === "object" && isEmpty(value)))
        yield forbidden(`${at}.${name}`, "cannot be set for an Ephemeral Container");
    }
    for (const [path, { subPath, subPathExpr }] of each(`${at}.volumeMounts`, container.volumeMounts)) {
      if (subPath) yield forbidden(`${path}.subPath`, "cannot be set for an Ephemeral Container");
      if (subPathExpr) yield forbidden(`${path}.subPathExpr`, "cannot be set for an Ephemeral Container");
    }
  }
}

export const hasImageSpace = ({ image = "" }: Pick<Container, "image">): boolean => image.trim() !== image;

export const imageSpace = (at: string, container: Pick<Container, "image">): readonly Problem[] =>
  !hasImageSpace(container) ? none : [invalid(`${at}.image`, "must not have leading or trailing whitespace")];
