// What makes a pod a certain member of a StatefulSet: its ordinal, and the name, labels and volumes that follow from it.
// Upstream: pkg/controller/statefulset/stateful_set_utils.go.
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { controlledBy } from "#rules/owners.ts";
import { revisionLabel } from "../controller-revisions.ts";

const nameLabel = "statefulset.kubernetes.io/pod-name";
const indexLabel = "apps.kubernetes.io/pod-index";

/** The name of the set and the ordinal that a pod's name says; -1 for a number no ordinal can have. */
function parsed(podName: string): { readonly parent: string; readonly ordinal: number } | undefined {
  const [, parent, digits] = /^(.*)-([0-9]+)$/s.exec(podName) ?? [];
  if (parent === undefined) return undefined;
  const number = Number(digits);
  return { parent, ordinal: number < 2 ** 31 ? number : -1 };
}

export const ordinalOf = ({ metadata }: Pod): number => parsed(metadata.name ?? "")?.ordinal ?? -1;

/** Whether the pod's name is one that the set gives. */
export const isMember = (set: StatefulSet, { metadata }: Pod): boolean =>
  parsed(metadata.name ?? "")?.parent === set.metadata.name;

export const startOf = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0;

export const isInRange = (set: StatefulSet, ordinal: number): boolean =>
  ordinal >= startOf(set) && ordinal < startOf(set) + set.spec.replicas;

export const podName = ({ metadata }: StatefulSet, ordinal: number): string => `${metadata.name}-${ordinal}`;

export const revisionOf = ({ metadata }: Pod): string => metadata.labels?.[revisionLabel] ?? "";

/** The pod to create for an ordinal. */
export function newPod(set: StatefulSet, revision: string, ordinal: number) {
  const { template, serviceName } = set.spec;
  const { labels, annotations, finalizers } = template.metadata;
  const name = podName(set, ordinal);
  return {
    metadata: {
      generateName: `${set.metadata.name}-`,
      name,
      namespace: set.metadata.namespace ?? "",
      labels: { ...labels, ...identityLabels(name, ordinal), [revisionLabel]: revision },
      annotations,
      finalizers,
      ownerReferences: [controlledBy(StatefulSet, set)],
    },
    spec: {
      ...template.spec,
      ...volumesFor(set, ordinal, template.spec.volumes),
      hostname: name,
      ...(serviceName && { subdomain: serviceName }),
    },
  };
}

const identityLabels = (name: string, ordinal: number) => ({ [nameLabel]: name, [indexLabel]: String(ordinal) });

export function hasIdentity(set: StatefulSet, pod: Pod): boolean {
  const { name, namespace, labels } = pod.metadata;
  const ordinal = ordinalOf(pod);
  return (
    ordinal >= 0 &&
    name === podName(set, ordinal) &&
    namespace === set.metadata.namespace &&
    labels?.[nameLabel] === name
  );
}

export function withIdentity(set: StatefulSet, pod: Pod): Pod {
  const ordinal = ordinalOf(pod);
  const name = podName(set, ordinal);
  const labels = { ...pod.metadata.labels, ...identityLabels(name, ordinal) };
  return { ...pod, metadata: { ...pod.metadata, name, namespace: set.metadata.namespace, labels } };
}

/** Whether each claim of the pod's ordinal is mounted under the name of its template. */
export function hasStorage(set: StatefulSet, pod: Pod): boolean {
  const ordinal = ordinalOf(pod);
  const claimNames = new Map(
    (pod.spec.volumes ?? []).map(({ name, persistentVolumeClaim }) => [name, persistentVolumeClaim?.claimName]),
  );
  return (
    ordinal >= 0 &&
    templatesOf(set).every((template) => claimNames.get(template.metadata.name) === claimName(set, template, ordinal))
  );
}

export const withStorage = (set: StatefulSet, pod: Pod): Pod => ({
  ...pod,
  spec: { ...pod.spec, ...volumesFor(set, ordinalOf(pod), pod.spec.volumes) },
});

/** The claims take the place of volumes of the same names. */
function volumesFor(set: StatefulSet, ordinal: number, others: PodSpec["volumes"] = []): Pick<PodSpec, "volumes"> {
  const templates = templatesOf(set);
  const names = new Set(templates.map(({ metadata }) => metadata.name));
  const volumes = [
    ...templates.map((template) => ({
      name: template.metadata.name ?? "",
      persistentVolumeClaim: { claimName: claimName(set, template, ordinal) },
    })),
    ...others.filter(({ name }) => !names.has(name)),
  ];
  return volumes.length > 0 ? { volumes } : {};
}

export const templatesOf = ({ spec }: StatefulSet): readonly PersistentVolumeClaim[] => spec.volumeClaimTemplates ?? [];

export const claimName = ({ metadata }: StatefulSet, template: PersistentVolumeClaim, ordinal: number): string =>
  `${template.metadata.name}-${metadata.name}-${ordinal}`;

/** The claims to create for an ordinal. */
export const newClaims = (set: StatefulSet, ordinal: number) =>
  templatesOf(set).map(({ metadata, spec }) => ({
    metadata: {
      ...metadata,
      name: `${metadata.name}-${set.metadata.name}-${ordinal}`,
      namespace: set.metadata.namespace ?? "",
      labels: { ...metadata.labels, ...set.spec.selector.matchLabels },
    },
    spec,
  }));
