// Makes the claims of pods that have volumes of their own, which go with the pods.
// Upstream: pkg/controller/volume/ephemeral/controller.go.
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { explain } from "#base/errors.ts";
import { controller, type Reconcile, watching } from "#client/controller.ts";
import { controlledBy, controllerOf } from "#rules/owners.ts";
import { claimKey } from "#rules/volumes.ts";
import { podsByClaim } from "./claims-of-pods.ts";

const isConcerned = ({ metadata, spec }: Pod): boolean =>
  metadata.deletionTimestamp === undefined && (spec.volumes?.some(({ ephemeral }) => ephemeral) ?? false);

export const ephemeralVolumeController = controller({
  name: "ephemeral-volume",
  queue: "ephemeral_volume",
  reportsAs: "ephemeral_volume",
  for: Pod,
  concerns: isConcerned,
  // A claim that someone has deleted is made again.
  watches: [
    watching(PersistentVolumeClaim, (claim, cache) =>
      cache
        .by(podsByClaim, claimKey(claim))
        .filter(isConcerned)
        .map(({ metadata }) => metadata),
    ),
  ],

  async reconcile(pod, context) {
    if (!isConcerned(pod)) return;
    for (const volume of pod.spec.volumes ?? [])
      if (volume.ephemeral)
        try {
          await ensureClaim(pod, volume, context);
        } catch (cause) {
          const { namespace, name } = pod.metadata;
          context.event("Warning", "FailedBinding", `ephemeral volume ${volume.name}: ${explain(cause)}`);
          throw new Error(`pod ${namespace}/${name}, ephemeral volume ${volume.name}`, { cause });
        }
  },
});

async function ensureClaim(pod: Pod, { name: volumeName, ephemeral }: Volume, { client, cache }: Reconcile) {
  const { namespace, name: podName, uid } = pod.metadata;
  const name = `${podName}-${volumeName}`;
  const present = cache.get(PersistentVolumeClaim, { namespace, name });
  if (present && controllerOf(present)?.uid !== uid)
    throw new Error(`PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`);
  const template = ephemeral?.volumeClaimTemplate;
  if (present || !template) return;
  const { annotations, labels } = template.metadata ?? {};
  try {
    await client.create(PersistentVolumeClaim, {
      metadata: {
        namespace,
        name,
        ownerReferences: [controlledBy(Pod, pod)],
        ...(annotations && { annotations }),
        ...(labels && { labels }),
      },
      spec: template.spec,
    });
  } catch (cause) {
    throw new Error(`create PVC ${name}`, { cause });
  }
}
