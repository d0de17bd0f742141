// Indexes of pods that several controllers use.
import { Pod } from "#api/core/v1/pod.ts";
import { index } from "#client/cache.ts";
import { type Watching, watching } from "#client/controller.ts";
import { keyOfObject, placeOf } from "#client/object-key.ts";
import { controllerOf } from "#rules/owners.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";

/** Pods that nobody controls, by namespace: whose selector matches may adopt them. */
export const orphanPods = index(Pod, (pod) => (controllerOf(pod) ? [] : [pod.metadata.namespace ?? ""]));

/** What wakes owners for pods that nobody controls: those of the pod's namespace that would take it. */
export const wakenByOrphans = <K extends AnyKind>(kind: K, takes: (owner: Infer<K>, pod: Pod) => boolean): Watching =>
  watching(Pod, (pod, cache) =>
    controllerOf(pod)
      ? []
      : cache
          .list(kind, pod.metadata.namespace)
          .filter((owner) => takes(owner, pod))
          .map((owner) => placeOf(keyOfObject(owner))),
  );

/** Pods by the node they are assigned to. */
export const podsOnNode = index(Pod, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []));
