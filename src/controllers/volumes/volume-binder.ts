// Says what became of volumes: free, bound, or left behind by their claims. What is to be done is decided in volume-plan.ts.
// Upstream: pkg/controller/volume/persistentvolume/pv_controller_base.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { controller, type Reconcile, watching } from "#client/controller.ts";
import { claimKey } from "#rules/volumes.ts";
import { setVolumePhase } from "./bind.ts";
import { withMigratedVolume } from "./migration.ts";
import { volumesByClaim } from "./volume-match.ts";
import { planVolume, reclaimFailure, unbound } from "./volume-plan.ts";

export const volumeBinder = controller({
  name: "persistentvolume-binder-volumes",
  queue: "volumes",
  reportsAs: "persistentvolume-controller",
  for: PersistentVolume,
  watches: [
    watching(PersistentVolumeClaim, (claim, cache) => [
      ...(claim.spec.volumeName ? [{ name: claim.spec.volumeName }] : []),
      ...cache.by(volumesByClaim, claimKey(claim)).map(({ metadata }) => metadata),
    ]),
  ],

  async reconcile(found, context) {
    const { client, event } = context;
    const migrated = withMigratedVolume(found);
    const volume = migrated === found ? found : await client.update(PersistentVolume, migrated);
    const claim = await claimOf(volume, context);
    const plan = planVolume(volume, claim);
    switch (plan.type) {
      case "phase":
        await setVolumePhase(volume, plan.phase, client);
        return;
      case "wait":
        return;
      case "mismatch":
        event("Warning", "VolumeMismatch", plan.volumeMessage);
        event("Warning", "VolumeMismatch", plan.claimMessage, claim);
        return;
      case "unbind":
        await setVolumePhase(await client.update(PersistentVolume, unbound(volume)), "Available", client);
        return;
      case "reclaim":
        return reclaim(volume, context);
    }
  },
});

/** A failure stays to be seen. */
const isReleased = ({ status }: PersistentVolume): boolean => status.phase === "Released" || status.phase === "Failed";

/** The claim that has the volume. That it is gone is only believed when the server says so: data may depend on it. */
async function claimOf(volume: PersistentVolume, { client, cache }: Reconcile) {
  const { namespace, name = "", uid } = volume.spec.claimRef ?? {};
  if (!uid) return undefined;
  const cached = cache.get(PersistentVolumeClaim, { namespace, name });
  if (cached?.metadata.uid === uid) return cached;
  if (!cached && isReleased(volume)) return undefined;
  const present = await client.find(PersistentVolumeClaim, { namespace, name });
  return present?.metadata.uid === uid ? present : undefined;
}

async function reclaim(volume: PersistentVolume, { client, event }: Reconcile): Promise<void> {
  const released = isReleased(volume) ? volume : await setVolumePhase(volume, "Released", client);
  const failure = reclaimFailure(released);
  if (!failure || released.status.phase === "Failed") return;
  await setVolumePhase(released, "Failed", client, failure.message);
  event(failure.type, failure.reason, failure.message);
}
