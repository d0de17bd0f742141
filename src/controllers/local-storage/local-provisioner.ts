// Makes folders of nodes into volumes, as an external provisioner would: it knows claims, volumes and classes from the API alone, and
// writes under an account of its own. Upstream: sigs.k8s.io/sig-storage-lib-external-provisioner; events are worded as its.
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { explain, isReason } from "#base/errors.ts";
import { type Again, controller, type Reconcile } from "#client/controller.ts";
import { claimKey, classOf, requestedBytes, selectedNode, storageProvisioner } from "#rules/volumes.ts";
import { deletionFinalizer, isLocalVolume, newVolume, nodeOf, problemOf, volumeNameFor } from "./local-volumes.ts";
import { localProvisioner, type NodeStorage } from "./node-storage.ts";

/** Until a node that cannot be reached is tried again. */
const unreachableMs = 5_000;

export const isOurs = ({ metadata, spec }: PersistentVolumeClaim): boolean =>
  !spec.volumeName && metadata.annotations?.[storageProvisioner] === localProvisioner;

export const localProvisionController = (storage: NodeStorage) =>
  controller({
    name: "local-provisioner",
    reportsAs: localProvisioner,
    for: PersistentVolumeClaim,
    concerns: isOurs,
    reads: [Node, StorageClass, PersistentVolume],
    workers: 10,

    async reconcile(claim, context) {
      if (!isOurs(claim)) return;
      const { cache, event } = context;
      const storageClass = cache.get(StorageClass, { name: classOf(claim) });
      if (storageClass?.provisioner !== localProvisioner) return;
      if (cache.get(PersistentVolume, { name: volumeNameFor(claim) })) return; // the binder does the rest
      const name = claim.metadata.annotations?.[selectedNode];
      const problem = name === undefined ? "no node was selected: use WaitForFirstConsumer" : problemOf(claim);
      if (name === undefined || problem !== undefined) {
        const what = `failed to provision volume with StorageClass "${storageClass.metadata.name}"`;
        event("Warning", "ProvisioningFailed", `${what}: ${problem}`);
        return;
      }
      const node = cache.get(Node, { name });
      if (!node) return reschedule(claim, context);
      if (!storage.isReachable(name)) return { afterMs: unreachableMs };
      return provision({ claim, storageClass, node, storage }, context);
    },
  });

interface ProvisionRequest {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly node: Node;
  readonly storage: NodeStorage;
}

async function provision(request: ProvisionRequest, { client, event }: Reconcile): Promise<undefined> {
  const { claim, storageClass, node, storage } = request;
  const name = volumeNameFor(claim);
  event("Normal", "Provisioning", `External provisioner is provisioning volume for claim "${claimKey(claim)}"`);
  try {
    const made = await storage.make(node.metadata.name, name, requestedBytes(claim));
    await client.create(PersistentVolume, newVolume(claim, storageClass, node, made));
  } catch (cause) {
    if (isReason(cause, "AlreadyExists")) return;
    const what = `failed to provision volume with StorageClass "${storageClass.metadata.name}"`;
    event("Warning", "ProvisioningFailed", `${what}: ${explain(cause)}`);
    throw new Error(what, { cause });
  }
  event("Normal", "ProvisioningSucceeded", `Successfully provisioned volume ${name}`);
}

/** The node is no more: the scheduler is to choose another. */
async function reschedule(claim: PersistentVolumeClaim, { client }: Reconcile): Promise<undefined> {
  const { [selectedNode]: _node, ...annotations } = claim.metadata.annotations ?? {};
  await client.update(PersistentVolumeClaim, { ...claim, metadata: { ...claim.metadata, annotations } });
}

/** Removes the folders of volumes whose claims are gone. */
export const localReclaimController = (storage: NodeStorage) =>
  controller({
    name: "local-reclaimer",
    reportsAs: localProvisioner,
    for: PersistentVolume,
    concerns: isLocalVolume,
    reads: [Node],

    async reconcile(volume, { client, cache, event }): Promise<Again | undefined> {
      if (!isLocalVolume(volume)) return undefined;
      const { metadata, spec, status } = volume;
      const isKept = spec.persistentVolumeReclaimPolicy !== "Delete";
      if (isKept && metadata.deletionTimestamp && status.phase !== "Bound") return letGo(volume, client);
      if (isKept || (status.phase !== "Released" && status.phase !== "Failed")) return undefined;
      const node = nodeOf(volume, cache.list(Node));
      if (node === undefined || !storage.isReachable(node)) return { afterMs: unreachableMs };
      try {
        await storage.remove(node, metadata.name);
      } catch (cause) {
        event("Warning", "VolumeFailedDelete", explain(cause));
        throw new Error(`remove the folder of volume ${metadata.name}`, { cause });
      }
      if (!metadata.deletionTimestamp) await client.delete(PersistentVolume, metadata);
      return letGo(volume, client);
    },
  });

async function letGo({ metadata }: PersistentVolume, client: Reconcile["client"]): Promise<undefined> {
  const present = await client.find(PersistentVolume, metadata);
  if (present?.metadata.uid !== metadata.uid || !present?.metadata.finalizers?.includes(deletionFinalizer)) return;
  const finalizers = present.metadata.finalizers.filter((one) => one !== deletionFinalizer);
  await client.update(PersistentVolume, { ...present, metadata: { ...present.metadata, finalizers } });
}
