// What becomes of a claim: a pure function of the claim and of what there is.
// Upstream: pkg/controller/volume/persistentvolume/pv_controller.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { StorageClass } from "#api/storage/v1/storage-class.ts";
import type { EventType } from "#client/controller.ts";
import { csiNameOf } from "#rules/csi-migration.ts";
import {
  bindCompleted,
  boundByController,
  claimKey,
  classOf,
  hasClass,
  hasModes,
  isFor,
  requestedBytes,
  selectedNode,
  volumeBytes,
  waitsForPod,
} from "#rules/volumes.ts";

export interface PlannedEvent {
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
}

export type ClaimPlan =
  /** The volume is the claim's: both are to say so. */
  | { readonly type: "bind"; readonly volume: PersistentVolume }
  /** It stays pending, or becomes so. */
  | { readonly type: "wait"; readonly event?: PlannedEvent }
  /** There is a default class by now. */
  | { readonly type: "assign"; readonly storageClassName: string }
  /** Someone else is to make a volume. */
  | { readonly type: "provision"; readonly provisioner: string }
  /** Nobody can make a volume. */
  | { readonly type: "refuse"; readonly event: PlannedEvent }
  /** Its volume is gone, or another claim's; for good. */
  | { readonly type: "lose"; readonly event: PlannedEvent }
  /** Someone has changed what only the controller writes. */
  | { readonly type: "fail"; readonly event: PlannedEvent; readonly message: string };

export interface BindingFacts {
  storageClass(name: string): StorageClass | undefined;
  defaultClass(): StorageClass | undefined;
  volume(name: string): PersistentVolume | undefined;
  /** The best volume for the claim: only one that names it, if others are for the scheduler to choose. */
  match(claim: PersistentVolumeClaim, onlyNamed: boolean): PersistentVolume | undefined;
  /** Names of pods that wait for a node, and want the claim. */
  waitingPods(claim: PersistentVolumeClaim): readonly string[];
}

export function planClaim(claim: PersistentVolumeClaim, facts: BindingFacts): ClaimPlan {
  if (claim.metadata.annotations?.[bindCompleted] !== undefined) return planBound(claim, facts);
  const { volumeName } = claim.spec;
  return volumeName ? planRequested(claim, volumeName, facts) : planUnbound(claim, facts);
}

function planUnbound(claim: PersistentVolumeClaim, facts: BindingFacts): ClaimPlan {
  const className = classOf(claim);
  const storageClass = className === "" ? undefined : facts.storageClass(className);
  const waits = waitsForPod(storageClass);
  const volume = facts.match(claim, waits);
  if (volume) return { type: "bind", volume };
  const standard = hasClass(claim) ? undefined : facts.defaultClass();
  if (standard) return { type: "assign", storageClassName: standard.metadata.name };
  if (waits && claim.metadata.annotations?.[selectedNode] === undefined)
    return { type: "wait", event: waitingFor(facts.waitingPods(claim)) };
  if (className !== "") return planProvision(className, storageClass);
  return {
    type: "wait",
    event: normal("FailedBinding", "no persistent volumes available for this claim and no storage class is set"),
  };
}

function planProvision(className: string, storageClass: StorageClass | undefined): ClaimPlan {
  const refuse = (message: string): ClaimPlan => ({ type: "refuse", event: warning("ProvisioningFailed", message) });
  if (!storageClass) return refuse(`storageclass.storage.k8s.io "${className}" not found`);
  const { provisioner } = storageClass;
  const csi = csiNameOf(provisioner);
  // Upstream's own provisioners are all gone or migrated, but for hostPath's, which is off by default.
  if (csi === undefined && provisioner.startsWith("kubernetes.io/"))
    return refuse(`no volume plugin matched name: ${provisioner}`);
  return { type: "provision", provisioner: csi ?? provisioner };
}

function waitingFor(pods: readonly string[]): PlannedEvent {
  if (pods.length === 0)
    return normal("WaitForFirstConsumer", "waiting for first consumer to be created before binding");
  const which = pods.length > 1 ? `pods ${pods.join(",")}` : `pod ${pods[0]}`;
  return normal("WaitForPodScheduled", `waiting for ${which} to be scheduled`);
}

/** The claim names its volume. */
function planRequested(claim: PersistentVolumeClaim, volumeName: string, facts: BindingFacts): ClaimPlan {
  const volume = facts.volume(volumeName);
  if (!volume) return { type: "wait" };
  const { claimRef } = volume.spec;
  if (!claimRef) {
    const problem = misfitOf(volume, claim);
    if (problem === undefined) return { type: "bind", volume };
    return {
      type: "wait",
      event: warning("VolumeMismatch", `Cannot bind to requested volume "${volumeName}": ${problem}`),
    };
  }
  if (isFor(volume, claim)) return { type: "bind", volume };
  const event = warning("FailedBinding", `volume "${volumeName}" already bound to a different claim.`);
  if (claim.metadata.annotations?.[boundByController] === undefined) return { type: "wait", event };
  const other = `${claimRef.namespace ?? ""}/${claimRef.name ?? ""}`;
  const message = `invalid binding of claim "${claimKey(claim)}" to volume "${volumeName}": volume already claimed by "${other}"`;
  return { type: "fail", event, message };
}

/** Why the claim cannot have the volume it names. */
function misfitOf(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp) return `the volume is marked for deletion "${volume.metadata.name}"`;
  if (volumeBytes(volume) < requestedBytes(claim)) return "requested PV is too small";
  if (classOf(volume) !== classOf(claim)) return "storageClassName does not match";
  if ((volume.spec.volumeAttributesClassName ?? "") !== (claim.spec.volumeAttributesClassName ?? ""))
    return "volumeAttributesClassName does not match";
  if (volume.spec.volumeMode !== claim.spec.volumeMode) return "incompatible volumeMode";
  return hasModes(volume, claim) ? undefined : "incompatible accessMode";
}

/** The claim was bound once. */
function planBound(claim: PersistentVolumeClaim, facts: BindingFacts): ClaimPlan {
  const { volumeName } = claim.spec;
  const lost = (what: string): ClaimPlan => ({
    type: "lose",
    event: warning("ClaimLost", `Bound claim has lost ${what} PersistentVolume. Data on the volume is lost!`),
  });
  if (!volumeName) return lost("reference to");
  const volume = facts.volume(volumeName);
  if (!volume) return lost("its");
  const { claimRef } = volume.spec;
  if (!claimRef || claimRef.uid === claim.metadata.uid) return { type: "bind", volume };
  const message = "Two claims are bound to the same volume, this one is bound incorrectly";
  return { type: "lose", event: warning("ClaimMisbound", message) };
}

const normal = (reason: string, message: string): PlannedEvent => ({ type: "Normal", reason, message });
const warning = (reason: string, message: string): PlannedEvent => ({ type: "Warning", reason, message });
