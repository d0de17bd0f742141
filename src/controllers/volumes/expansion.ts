// Hands claims that want to grow over to those who make volumes larger. None of the drivers that are left in upstream's own tree can do
// that from here, so that this only says who is waited for.
// Upstream: pkg/controller/volume/expand/expand_controller.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { controller, watching } from "#client/controller.ts";
import { csiNameOf, migratedSource } from "#rules/csi-migration.ts";
import { wantsToGrow } from "#rules/volumes.ts";

const resizerAnnotation = "volume.kubernetes.io/storage-resizer";

export const expansionController = controller({
  name: "persistentvolume-expander",
  queue: "volume_expand",
  reportsAs: "volume_expand",
  for: PersistentVolumeClaim,
  concerns: wantsToGrow,
  watches: [
    // A claim may be told of before its volume is.
    watching(PersistentVolume, ({ spec: { claimRef } }) =>
      claimRef ? [{ namespace: claimRef.namespace, name: claimRef.name ?? "" }] : [],
    ),
  ],

  async reconcile(claim, { client, cache, event }) {
    // Whoever has begun with it is no longer waited for.
    if (!wantsToGrow(claim) || claim.status.allocatedResourceStatuses?.storage !== undefined) return;
    const volume = cache.get(PersistentVolume, { name: claim.spec.volumeName ?? "" });
    if (!volume || volume.spec.claimRef?.uid !== claim.metadata.uid) return;
    const inTree = migratedSource(volume);
    if (inTree === undefined) {
      event("Normal", "ExternalExpanding", "waiting for an external controller to expand this PVC");
      return;
    }
    const message = `CSI migration enabled for ${inTree}; waiting for external resizer to expand the pvc`;
    event("Normal", "ExternalExpanding", message);
    const resizer = csiNameOf(inTree);
    if (claim.metadata.annotations?.[resizerAnnotation] === resizer) return;
    const metadata = { annotations: { [resizerAnnotation]: resizer } };
    await client.patch(PersistentVolumeClaim, claim.metadata, "strategic", { metadata }, { subresource: "status" });
  },
});
