// Templates of pods, and the annotations that pods and templates may carry.
// Upstream: pkg/apis/core/validation/validation.go.

import { forbidden, invalid, type Problem } from "#schema/index.ts";
import { parseJson } from "#schema/json.ts";
import { annotationProblems, labelProblems } from "#schema/validate-metadata.ts";
import type { Toleration } from "../affinity.ts";
import type { PodSpec, PodTemplateSpec } from "../pod-spec.ts";
import { checkTolerations } from "./affinity.ts";
import { allContainers } from "./containers.ts";
import { descending } from "./paths.ts";
import { quoted, under } from "./problems.ts";

type Annotations = Readonly<Record<string, string>> | undefined;

export const mirrorAnnotation = "kubernetes.io/config.mirror";
export const appArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";
const seccompOfPod = "seccomp.security.alpha.kubernetes.io/pod";
const seccompOfContainer = "container.seccomp.security.alpha.kubernetes.io/";
const tolerationsAnnotation = "scheduler.alpha.kubernetes.io/tolerations";
const deletionCost = "controller.kubernetes.io/pod-deletion-cost";

export function* checkPodTemplate({ metadata, spec }: PodTemplateSpec): Iterable<Problem> {
  yield* labelProblems(metadata.labels, "labels");
  yield* annotationProblems(metadata.annotations, "annotations");
  yield* under("annotations", checkPodAnnotations(metadata.annotations, spec));
  yield* under("spec", checkProfilesAgree(metadata.annotations, spec));
  if (spec.ephemeralContainers?.length)
    yield forbidden("spec.ephemeralContainers", "ephemeral containers not allowed in pod template");
}

/** Paths are relative to the annotations. */
export function* checkPodAnnotations(annotations: Annotations, spec: PodSpec): Iterable<Problem> {
  let containers: ReadonlySet<string> | undefined;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    if (key === mirrorAnnotation && !spec.nodeName)
      yield invalid(`[${key}]`, "must set spec.nodeName if mirror pod annotation is set", value);
    if (key === tolerationsAnnotation && value !== "") yield* checkSerialized(value);
    if (key === deletionCost && !isInt32(value)) yield invalid(`[${key}]`, "must be a 32bit integer", value);
    if (key === seccompOfPod || key.startsWith(seccompOfContainer)) yield* seccompValue(key, value);
    if (key.startsWith(appArmorAnnotation)) {
      const name = key.slice(appArmorAnnotation.length);
      containers ??= new Set([...allContainers(spec)].map(([, container]) => container.name));
      if (!containers.has(name)) yield invalid(`[${key}]`, "container not found", name);
      if (!["", "runtime/default", "unconfined"].includes(value) && !value.startsWith("localhost/"))
        yield invalid(`[${key}]`, `invalid AppArmor profile name: ${quoted(value)}`, value);
    }
  }
}

const isInt32 = (text: string): boolean =>
  /^(?:0|[1-9]\d*|-\d+)$/.test(text) && Number(text) >= -(2 ** 31) && Number(text) < 2 ** 31;

function* checkSerialized(text: string): Iterable<Problem> {
  let tolerations: readonly Toleration[];
  try {
    tolerations = parseJson(text).value as readonly Toleration[];
  } catch (error) {
    return yield invalid("", error instanceof Error ? error.message : String(error), tolerationsAnnotation);
  }
  if (!Array.isArray(tolerations)) return yield invalid("", "must be a list of tolerations", tolerationsAnnotation);
  yield* checkTolerations(tolerationsAnnotation, tolerations);
}

function* seccompValue(key: string, value: string): Iterable<Problem> {
  if (["runtime/default", "docker/default", "unconfined"].includes(value)) return;
  if (value.startsWith("localhost/")) yield* descending(key, value.slice("localhost/".length));
  else yield invalid(key, "must be a valid seccomp profile", value);
}

/** Where a profile is said both in an annotation and in a field, both must say the same. Paths are relative to the spec. */
export function* checkProfilesAgree(annotations: Annotations, spec: PodSpec): Iterable<Problem> {
  if (annotations === undefined) return;
  const { seccompProfile, appArmorProfile } = spec.securityContext;
  yield* agree("securityContext.seccompProfile", "seccomp", annotations?.[seccompOfPod], seccompProfile);
  for (const [at, { name, securityContext }] of allContainers(spec)) {
    const path = `${at}.securityContext`;
    const annotation = annotations?.[seccompOfContainer + name];
    yield* agree(`${path}.seccompProfile`, "seccomp", annotation, securityContext?.seccompProfile);
    if (spec.os?.name === "windows") continue;
    const armor = annotations?.[appArmorAnnotation + name];
    yield* agree(`${path}.appArmorProfile`, "apparmor", armor, securityContext?.appArmorProfile ?? appArmorProfile);
  }
}

function* agree(
  at: string,
  what: string,
  annotation: string | undefined,
  profile: { readonly type: string; readonly localhostProfile?: string | undefined } | undefined,
): Iterable<Problem> {
  if (annotation === undefined || !profile) return;
  const differs =
    (profile.type === "Unconfined" && annotation !== "unconfined") ||
    (profile.type === "RuntimeDefault" &&
      annotation !== "runtime/default" &&
      !(what === "seccomp" && annotation === "docker/default")) ||
    (profile.type === "Localhost" && !annotation.startsWith("localhost/"));
  if (differs) yield forbidden(`${at}.type`, `${what} type in annotation and field must match`);
  else if (profile.type === "Localhost" && annotation !== `localhost/${profile.localhostProfile}`)
    yield forbidden(`${at}.localhostProfile`, `${what} profile in annotation and field must match`);
}
