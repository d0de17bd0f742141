// Updates of pods that go through the `ephemeralcontainers` and `resize` subresources. They may change what an ordinary
// update may not, and nothing else, so they are judged here and not by the kind's own check.
import { firstByName } from "#base/collections.ts";
import { forbidden, invalid, type Problem } from "#schema/index.ts";
import { validateObject } from "#schema/validate.ts";
import { validateMetadata } from "#schema/validate-metadata.ts";
import { internalForm } from "../../internal-form.ts";
import { type Amounts, isSidecar } from "./amounts.ts";
import { difference } from "./checks/difference.ts";
import { checkAnnotationsKept, checkPodOnly } from "./checks/pod.ts";
import { mirrorAnnotation } from "./checks/pod-template.ts";
import { each, quoted, under } from "./checks/problems.ts";
import { same } from "./checks/same.ts";
import { type Container, EphemeralContainer } from "./container.ts";
import { Pod } from "./pod.ts";
import { PodSpec } from "./pod-spec.ts";
import { qosClassOf } from "./qos.ts";
import type { ResourceRequirements } from "./resources.ts";

/** Every problem of an update through `ephemeralcontainers`: containers may be added, those there must stay as they are. */
export function validateEphemeralContainers(pod: Pod, old: Pod): readonly Problem[] {
  if (isStatic(old)) return [forbidden("", "static pods do not support ephemeral containers")];
  const problems = [...wholePod(pod, old), ...checkAnnotationsKept(pod, old)];
  const at = "spec.ephemeralContainers";
  const present = firstByName(pod.spec.ephemeralContainers);
  for (const before of old.spec.ephemeralContainers ?? []) {
    const now = present.get(before.name);
    const which = `existing ephemeral containers ${quoted(before.name)}`;
    if (!now) problems.push(forbidden(at, `${which} may not be removed\n`));
    else if (!same(now, before)) problems.push(forbidden(at, `${which} may not be changed\n${changed(before, now)}`));
  }
  return problems;
}

/** Every problem of an update through `resize`: cpu and memory of containers and of the pod may change. */
export function validateResize(pod: Pod, old: Pod): readonly Problem[] {
  if (isStatic(old)) return [forbidden("", "static pods cannot be resized")];
  if (old.spec.os?.name === "windows") return [forbidden("", "windows pods cannot be resized")];
  const problems: Problem[] = wholePod(pod, old);
  if ((old.status.qosClass || qosClassOf(old.spec)) !== qosClassOf(pod.spec))
    problems.push(invalid("spec", "Pod QOS Class may not change as a result of resizing", pod.status.qosClass ?? ""));
  const running = old.status.containerStatuses?.find(({ state }) => state.running);
  if (running && !running.resources) problems.push(forbidden("spec", "Pod running on node without support for resize"));
  problems.push(...checkPodLevel(pod.spec, old.spec));
  const moved = [...checkOrder(pod.spec, old.spec)];
  if (moved.length > 0) return [...problems, ...moved];
  problems.push(...checkKept(pod.spec, old.spec), ...checkOnlyResources(pod.spec, old.spec));
  const rest = withOldContainers(pod.spec, old.spec);
  if (problems.length === 0 && !same(rest, old.spec))
    problems.push(forbidden("spec", "only cpu and memory resources are mutable"));
  return problems;
}

const changed = (before: EphemeralContainer, now: EphemeralContainer): string =>
  difference(internalForm(EphemeralContainer, before), internalForm(EphemeralContainer, now));

const isStatic = ({ metadata }: Pod): boolean => mirrorAnnotation in (metadata.annotations ?? {});

/** What is wrong with the pod as such. */
function wholePod(pod: Pod, old: Pod): Problem[] {
  const metadata: Problem[] = [];
  validateMetadata(Pod, pod, old.metadata, metadata);
  return [...under("metadata", metadata), ...under("spec", validateObject(PodSpec, pod.spec)), ...checkPodOnly(pod)];
}

const isSet = ({ resources }: PodSpec): boolean =>
  Object.keys({ ...resources?.requests, ...resources?.limits }).length > 0;

function* checkPodLevel(spec: PodSpec, old: PodSpec): Iterable<Problem> {
  if (!isSet(spec) && !isSet(old)) return;
  if (old.resources && !spec.resources)
    return yield forbidden("spec.resources", "pod-level resources cannot be removed");
  for (const list of ["requests", "limits"] as const)
    if (isAnyGone(spec.resources?.[list], old.resources?.[list]))
      yield forbidden(`spec.resources.${list}`, `pod-level resource ${list} cannot be removed`);
  if (!same(withOldAmounts(spec.resources, old.resources), old.resources))
    yield forbidden("spec", "only cpu and memory resources are mutable at pod-level");
}

function* checkOrder(spec: PodSpec, old: PodSpec): Iterable<Problem> {
  for (const list of ["containers", "initContainers"] as const) {
    const [now, then] = [spec[list] ?? [], old[list] ?? []];
    if (now.length !== then.length) yield forbidden(`spec.${list}`, `${list} may not be added or removed on resize`);
    else
      for (const [i, { name }] of now.entries())
        if (then[i]?.name !== name)
          yield forbidden(`spec.${list}[${i}].name`, `${list} may not be renamed or reordered on resize`);
  }
}

function* checkKept(spec: PodSpec, old: PodSpec): Iterable<Problem> {
  for (const list of ["initContainers", "containers"] as const)
    for (const [i, { resources }] of (spec[list] ?? []).entries()) {
      const before = old[list]?.[i]?.resources;
      for (const which of ["requests", "limits"] as const)
        if (isAnyGone(resources[which], before?.[which]))
          yield forbidden(`spec.${list}[${i}].resources.${which}`, `resource ${which} cannot be removed`);
    }
}

const isAnyGone = (now: Amounts = {}, then: Amounts = {}): boolean =>
  Object.keys(then).some((name) => !Object.hasOwn(now, name));

function* checkOnlyResources(spec: PodSpec, old: PodSpec): Iterable<Problem> {
  for (const [i, container] of spec.containers.entries())
    if (!same(withOldResources(container, old.containers[i]), old.containers[i]))
      yield forbidden("spec", "only cpu and memory resources are mutable");
  const oldByName = firstByName(old.initContainers);
  for (const [at, container] of each("spec.initContainers", spec.initContainers)) {
    const before = oldByName.get(container.name);
    if (!same(withOldResources(container, before), before))
      yield forbidden(at, "only cpu and memory resources for init or sidecar containers are mutable");
    if (isSidecar(container) || same(container, before)) continue;
    for (const { restartPolicy } of container.resizePolicy ?? [])
      if (restartPolicy === "RestartContainer")
        yield forbidden(at, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized");
  }
}

const withOldContainers = (spec: PodSpec, old: PodSpec): PodSpec => ({
  ...spec,
  containers: old.containers,
  initContainers: old.initContainers,
  resources: old.resources,
});

const withOldResources = (container: Container, old: Container | undefined): Container => ({
  ...container,
  resources: withOldAmounts(container.resources, old?.resources) ?? {},
});

/** The requirements with the old cpu and memory, so that what then differs may not. */
function withOldAmounts(
  now: ResourceRequirements | undefined,
  old: ResourceRequirements | undefined,
): ResourceRequirements | undefined {
  if (!now) return now;
  return { ...now, limits: oldAmounts(now.limits, old?.limits), requests: oldAmounts(now.requests, old?.requests) };
}

function oldAmounts(now: Amounts | undefined, old: Amounts | undefined): Amounts {
  const { cpu: _cpu, memory: _memory, ...rest } = now ?? {};
  const kept = Object.entries(old ?? {}).filter(([name]) => name === "cpu" || name === "memory");
  return { ...rest, ...Object.fromEntries(kept) };
}
