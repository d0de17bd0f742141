// The labels of pods, by the UID that the folder of a pod's logs is named after.
import { Pod } from "#api/core/v1/pod.ts";
import type { Informers } from "#client/informers.ts";

export interface PodLabels {
  /** Undefined for a pod that is not known, or no longer. */
  of(uid: string): Readonly<Record<string, string>> | undefined;
}

/** By this, the copy that the API has of a static pod tells the UID of that pod. */
const mirrorAnnotation = "kubernetes.io/config.mirror";

export function podLabels(informers: Informers, node: string): PodLabels {
  const labels = new Map<string, Readonly<Record<string, string>>>();
  informers.of(Pod, { fieldSelector: `spec.nodeName=${node}` }).onChange(({ old, object }) => {
    if (old) labels.delete(uidOf(old));
    if (object) labels.set(uidOf(object), object.metadata.labels ?? {});
  });
  return { of: (uid) => labels.get(uid) };
}

const uidOf = ({ metadata }: Pod): string => metadata.annotations?.[mirrorAnnotation] ?? metadata.uid ?? "";
