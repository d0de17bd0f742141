// Pods as such: what templates may leave open, and what may change once a pod exists.
// Upstream: pkg/apis/core/validation/validation.go.
import { dns1123Subdomain, rangeMessage } from "#schema/formats.ts";
import { forbidden, invalid, type Problem, required } from "#schema/index.ts";
import { sentAs } from "#schema/sent-empty.ts";
import type { Toleration } from "../affinity.ts";
import type { Container } from "../container.ts";
import type { Pod } from "../pod.ts";
import { PodSpec } from "../pod-spec.ts";
import type { Volume } from "../volume.ts";
import { anyContainer, hasImageSpace, imageSpace } from "./containers.ts";
import { storedDifference } from "./difference.ts";
import { appArmorAnnotation, checkPodAnnotations, checkProfilesAgree, mirrorAnnotation } from "./pod-template.ts";
import { each, quoted, under } from "./problems.ts";
import { same } from "./same.ts";

export function checkPod(pod: Pod, old: Pod | undefined): readonly Problem[] {
  return [...checkPodOnly(pod), ...(old ? checkPodUpdate(pod, old) : checkPodCreate(pod))];
}

/** What holds for pods and not for templates, whatever is being done to them. */
export function checkPodOnly({ metadata, spec }: Pod): readonly Problem[] {
  const problems: Problem[] = [];
  if (metadata.annotations)
    problems.push(...under("metadata.annotations", checkPodAnnotations(metadata.annotations, spec)));
  if (spec.volumes?.some(isOfPodsOnly)) problems.push(...checkPodVolumes(metadata.name, spec, spec.volumes));
  if (anyContainer(spec, hasImageSpace))
    for (const list of ["containers", "initContainers"] as const)
      for (const [at, container] of each(`spec.${list}`, spec[list])) problems.push(...imageSpace(at, container));
  if (mirrorAnnotation in (metadata.annotations ?? {}))
    for (const _ of spec.resourceClaims ?? [])
      problems.push(forbidden("", "static pods do not support resource claims"));
  return problems;
}

/** Whether there is more to check of a volume of a pod than of one of a template. */
const isOfPodsOnly = ({ image, ephemeral, persistentVolumeClaim, projected }: Volume): boolean =>
  (image ?? ephemeral ?? persistentVolumeClaim ?? projected) !== undefined;

function checkPodVolumes(pod: string | undefined, spec: PodSpec, volumes: readonly Volume[]): readonly Problem[] {
  const problems: Problem[] = [];
  const made = new Set<string>();
  for (const { name, ephemeral } of volumes) if (ephemeral) made.add(`${pod}-${name}`);
  for (const [at, volume] of each("spec.volumes", volumes)) {
    if (volume.image && !volume.image.reference) problems.push(required(`${at}.image.reference`));
    if (volume.ephemeral && pod && volume.name) {
      const claim = `${pod}-${volume.name}`;
      for (const message of dns1123Subdomain(claim))
        problems.push(invalid(`${at}.name`, `PVC name ${quoted(claim)}: ${message}`));
    }
    if (made.has(volume.persistentVolumeClaim?.claimName ?? ""))
      problems.push(
        invalid(
          `${at}.persistentVolumeClaim.claimName`,
          "must not reference a PVC that gets created for an ephemeral volume",
        ),
      );
    if (spec.serviceAccountName || !volume.projected) continue;
    for (const [source, { serviceAccountToken }] of each(`${at}.projected.sources`, volume.projected.sources))
      if (serviceAccountToken)
        problems.push(
          forbidden(`${source}.serviceAccountToken`, "must not be specified when serviceAccountName is not set"),
        );
  }
  return problems;
}

function checkPodCreate({ metadata, spec }: Pod): readonly Problem[] {
  const found: Problem[] = [];
  if (spec.ephemeralContainers?.length) found.push(forbidden("spec.ephemeralContainers", "cannot be set on create"));
  if (spec.nodeName && spec.schedulingGates?.length)
    found.push(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
  if (metadata.annotations) found.push(...under("spec", checkProfilesAgree(metadata.annotations, spec)));
  return found;
}

/** Some annotations are read once, when the pod is made. */
export function* checkAnnotationsKept(pod: Pod, old: Pod): Iterable<Problem> {
  const before = new Map(Object.entries(old.metadata.annotations ?? {}));
  const after = new Map(Object.entries(pod.metadata.annotations ?? {}));
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    if (before.get(key) === after.get(key)) continue;
    const verb = before.has(key) ? "remove or update" : "add";
    const at = `metadata.annotations[${key}]`;
    if (key.startsWith(appArmorAnnotation)) yield forbidden(at, `may not ${verb} AppArmor annotations`);
    if (key === mirrorAnnotation) yield forbidden(at, `may not ${verb} mirror pod annotation`);
  }
}

const mayChange = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
];

function* checkPodUpdate(pod: Pod, old: Pod): Iterable<Problem> {
  yield* checkAnnotationsKept(pod, old);
  const [spec, before] = [pod.spec, old.spec];
  for (const list of ["containers", "initContainers"] as const)
    if ((spec[list] ?? []).length !== (before[list] ?? []).length)
      return yield forbidden(`spec.${list}`, "pod updates may not add or remove containers");
  yield* deadlineChange(spec.activeDeadlineSeconds, before.activeDeadlineSeconds);
  yield* tolerationsAdded(spec, before);
  const gates = new Set(before.schedulingGates?.map(({ name }) => name));
  for (const [at, { name }] of each("spec.schedulingGates", spec.schedulingGates))
    if (!gates.has(name))
      yield forbidden(`${at}.name`, `only deletion is allowed, but found new scheduling gate '${name}'`);
  if (same(spec, before)) return;
  const { kept, problems } = withAllowedChanges(spec, before);
  yield* problems;
  if (!same(kept, before))
    yield forbidden(
      "spec",
      `pod updates may not change fields other than ${mayChange.join(",")}\n${storedDifference(PodSpec, before, kept)}`,
    );
}

function* deadlineChange(seconds: number | undefined, before: number | undefined): Iterable<Problem> {
  const at = "spec.activeDeadlineSeconds";
  if (seconds === undefined) {
    if (before !== undefined) yield invalid(at, "must not update from a positive integer to nil value", null);
  } else if (seconds < 0 || seconds > 2 ** 31 - 1) yield invalid(at, rangeMessage(0, 2 ** 31 - 1));
  else if (before !== undefined && seconds > before) yield invalid(at, "must be less than or equal to previous value");
}

function* tolerationsAdded(spec: PodSpec, before: PodSpec): Iterable<Problem> {
  const withoutTime = ({ key, operator, value, effect }: Toleration) => JSON.stringify([key, operator, value, effect]);
  const now = new Set(spec.tolerations?.map(withoutTime));
  const kept = (before.tolerations ?? []).every((old) => now.has(withoutTime(old)));
  if (!kept)
    yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds");
}

/** The new spec with the old values of all that may change, so that what then differs may not. */
function withAllowedChanges(spec: PodSpec, before: PodSpec): { kept: PodSpec; problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const withOldImages = (now: readonly Container[] | undefined, then: readonly Container[] | undefined) =>
    now?.map((container, i) => sentAs(container, { ...container, image: then?.[i]?.image }));
  let kept: PodSpec = {
    ...spec,
    containers: withOldImages(spec.containers, before.containers) ?? [],
    initContainers: withOldImages(spec.initContainers, before.initContainers),
    activeDeadlineSeconds: before.activeDeadlineSeconds,
    schedulingGates: before.schedulingGates,
    tolerations: before.tolerations,
  };
  if (before.terminationGracePeriodSeconds < 0 && spec.terminationGracePeriodSeconds === 1)
    kept = { ...kept, terminationGracePeriodSeconds: before.terminationGracePeriodSeconds };
  if (before.schedulingGates?.length) {
    problems.push(...narrowed(spec, before));
    const affinity = { ...kept.affinity, nodeAffinity: before.affinity?.nodeAffinity };
    kept = { ...kept, nodeSelector: before.nodeSelector, affinity };
  }
  return { kept: sentAs(spec, kept), problems };
}

/** A pod that waits at a gate may still be told more about its node, but nothing may be taken back. */
function* narrowed(spec: PodSpec, before: PodSpec): Iterable<Problem> {
  for (const [key, value] of Object.entries(before.nodeSelector ?? {}))
    if (spec.nodeSelector?.[key] !== value) {
      yield invalid("spec.nodeSelector", "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
      break;
    }
  const termsOf = ({ affinity }: PodSpec) =>
    affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const [now, then] = [termsOf(spec), termsOf(before)];
  const at = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  if (then.length === 0) return;
  if (then.length !== now.length)
    return yield invalid(at, "no additions/deletions to non-empty NodeSelectorTerms list are allowed", now);
  for (const [i, old] of then.entries()) {
    const expressions = old.matchExpressions ?? [];
    const fields = old.matchFields ?? [];
    const term = now[i] ?? {};
    const wasEmpty = expressions.length === 0 && fields.length === 0;
    const onlyMore =
      !(wasEmpty && (term.matchExpressions?.length || term.matchFields?.length)) &&
      same(term.matchExpressions?.slice(0, expressions.length), expressions) &&
      same(term.matchFields?.slice(0, fields.length), fields);
    if (!onlyMore) yield invalid(`${at}[${i}]`, "only additions are allowed (no mutations or deletions)");
  }
}
