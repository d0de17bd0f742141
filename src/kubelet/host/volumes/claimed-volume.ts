// Finds the persistent volume behind a claim of a pod, as upstream's desired_state_of_world_populator.go does.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { translatedVolume } from "#rules/csi-translation.ts";
import type { InputSources } from "../../inputs/sources.ts";
import { ClaimFailed } from "../../volume-lifecycle.ts";

/** The persistent volume that the pod's claim is bound to. Messages are those of upstream's volume manager. */
export async function claimedVolume(
  { metadata, spec }: Pod,
  volume: Volume,
  sources: Pick<InputSources, "claim" | "persistentVolume">,
): Promise<PersistentVolume> {
  const { namespace = "", name: podName, uid } = metadata;
  const name = volume.ephemeral ? `${podName}-${volume.name}` : (volume.persistentVolumeClaim?.claimName ?? "");
  const failed = (why: string) => new ClaimFailed(`error processing PVC ${namespace}/${name}: ${why}`);
  const claim = await sources.claim(namespace, name);
  if (!claim)
    throw failed(`failed to fetch PVC from API server: persistentvolumeclaims ${JSON.stringify(name)} not found`);
  if (volume.ephemeral && !claim.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid))
    throw new ClaimFailed(
      `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`,
    );
  if (claim.metadata.deletionTimestamp !== undefined && !claim.metadata.finalizers?.includes(inUse))
    throw failed("PVC is being deleted");
  const { volumeName } = claim.spec;
  if (claim.status.phase !== "Bound" || !volumeName) throw failed("PVC is not bound");
  const persistentVolume = await sources.persistentVolume(volumeName);
  if (!persistentVolume) throw failed(`failed to fetch PV ${volumeName} from API server: it is not there`);
  if (persistentVolume.spec.claimRef?.uid !== claim.metadata.uid)
    throw failed(`PV ${volumeName} is bound to another claim than ${namespace}/${name}`);
  const { volumeMode } = persistentVolume.spec;
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const isNamed = (uses: readonly { readonly name: string }[] | undefined) =>
    uses?.some((use) => use.name === volume.name);
  if (volumeMode === "Block" && containers.some(({ volumeMounts }) => isNamed(volumeMounts)))
    throw new ClaimFailed(`volume ${volume.name} has volumeMode Block, but is specified in volumeMounts`);
  if (volumeMode !== "Block" && containers.some(({ volumeDevices }) => isNamed(volumeDevices)))
    throw new ClaimFailed(`volume ${volume.name} has volumeMode ${volumeMode}, but is specified in volumeDevices`);
  return translatedVolume(persistentVolume);
}

const inUse = "kubernetes.io/pvc-protection";
