import { Pod } from "#api/core/v1/pod.ts";
import { index } from "#client/cache.ts";
import { keyOf, type ObjectKey } from "#client/object-key.ts";

/** Claims that a pod has for its volumes, or would have if they were made for it. */
export const claimsOf = ({ metadata, spec }: Pod): readonly ObjectKey[] =>
  (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
    return claim === undefined ? [] : [{ namespace: metadata.namespace, name: claim }];
  });

export const podsByClaim = index(Pod, (pod) => claimsOf(pod).map(keyOf));
