// Why a claim has no volume.
import type { Event } from "#api/core/v1/event.ts";
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { StorageClass } from "#api/storage/v1/storage-class.ts";
import { parseQuantity, quantityToNumber } from "#schema/quantity.ts";
import { deletionReason } from "./deletion.ts";
import { type Evidence, eventEvidence, lastEvent, namesText, type Reason, sinceOf } from "./reason.ts";

export interface ClaimFacts {
  readonly claim: PersistentVolumeClaim;
  readonly classes: readonly StorageClass[];
  readonly volumes: readonly PersistentVolume[];
  /** Names of the pods that mount it. */
  readonly users: readonly string[];
  readonly events: readonly Event[];
  readonly deletedBy: string | undefined;
  readonly now: number;
}

const defaultClass = "storageclass.kubernetes.io/is-default-class";

export function claimReason(facts: ClaimFacts): Reason {
  const { claim, users } = facts;
  const deletion = deletionReason(claim, facts.deletedBy);
  if (deletion)
    return users.length === 0
      ? deletion
      : {
          ...deletion,
          evidence: [...(deletion.evidence ?? []), { from: "pods", says: `${namesText(users)} still mount it` }],
          remedies: [`delete the pods that use it: ${namesText(users)}`],
        };
  if (claim.status.phase === "Bound")
    return {
      code: "Bound",
      state: "fine",
      says: `is bound to the volume ${claim.spec.volumeName}${users.length > 0 ? `, and used by ${namesText(users)}` : ""}`,
    };
  if (claim.status.phase === "Lost")
    return {
      code: "Lost",
      state: "wrong",
      says: `was bound to the volume ${claim.spec.volumeName}, which is gone, with all data on it`,
      remedies: ["restore the volume and its PersistentVolume, or delete the claim and begin anew"],
    };
  return pending(facts);
}

function pending(facts: ClaimFacts): Reason {
  const { claim, classes, users, events } = facts;
  const { storageClassName: name } = claim.spec;
  const event = lastEvent(events, [
    "ProvisioningFailed",
    "FailedBinding",
    "ExternalProvisioning",
    "WaitForFirstConsumer",
    "WaitForPodScheduled",
    "Provisioning",
  ]);
  const shared = {
    state: "wrong" as const,
    ...sinceOf(claim.metadata.creationTimestamp),
    evidence: [...eventEvidence(event), ...volumeEvidence(facts)],
  };
  if (claim.spec.volumeName)
    return {
      ...shared,
      code: "WantsVolume",
      says: `waits for the volume ${claim.spec.volumeName}, which it asks for by name`,
      remedies: ["create that volume, or let it be free: it may be bound to another claim"],
    };
  if (name === undefined && !classes.some(isDefault))
    return {
      ...shared,
      code: "NoStorageClass",
      says: "waits for a volume: it names no storage class, and the cluster has no default one",
      remedies: ["name one of the classes there are, or make one the default (kubectl get storageclass)", byHandCure],
    };
  const storageClass = classes.find((one) => one.metadata.name === name);
  if (name && !storageClass)
    return {
      ...shared,
      code: "UnknownStorageClass",
      alike: name,
      says: `waits for a volume of the storage class ${name}, which does not exist`,
      remedies: [
        classes.length > 0
          ? `use one that exists: ${classes.map(({ metadata }) => metadata.name).join(", ")}`
          : `create the storage class ${name}`,
        byHandCure,
      ],
    };
  if (
    storageClass?.volumeBindingMode === "WaitForFirstConsumer" &&
    event?.reason !== "ProvisioningFailed" &&
    users.length === 0
  )
    return {
      ...shared,
      state: "fine",
      code: "WaitsForConsumer",
      says: `waits for a pod that uses it: volumes of the class ${name} are made where their first pod runs`,
      evidence: eventEvidence(event),
    };
  if (event?.reason === "ProvisioningFailed")
    return {
      ...shared,
      code: "ProvisioningFailed",
      says: `waits for a volume, which the provisioner ${storageClass?.provisioner ?? ""} fails to make`,
      remedies: ["see what the provisioner says, and whether the storage behind it has room"],
    };
  if (storageClass && storageClass.provisioner !== "kubernetes.io/no-provisioner")
    return {
      ...shared,
      code: "Provisioning",
      says: `waits for the provisioner ${storageClass.provisioner} to make a volume`,
      remedies: [`see whether the provisioner ${storageClass.provisioner} runs, and what it says`],
    };
  return {
    ...shared,
    code: "NoVolume",
    says: "waits for a volume that fits: nobody makes one for it, and none of those that are there does",
    remedies: [byHandCure],
  };
}

const byHandCure = "create a PersistentVolume that fits: its class, size and access modes";

const isDefault = ({ metadata }: StorageClass): boolean => metadata.annotations?.[defaultClass] === "true";

/** Why each volume of the class is not taken. */
function volumeEvidence({ claim, volumes }: ClaimFacts): readonly Evidence[] {
  const { storageClassName = "", accessModes = [], resources } = claim.spec;
  const wanted = resources.requests?.storage;
  return volumes
    .filter(({ spec }) => (spec.storageClassName ?? "") === storageClassName)
    .slice(0, 5)
    .map(({ metadata, spec, status }) => {
      const missing = accessModes.filter((mode) => !spec.accessModes?.includes(mode));
      const size = spec.capacity?.storage;
      const taken = spec.claimRef && spec.claimRef.uid !== claim.metadata.uid;
      const says = taken
        ? `belongs to ${spec.claimRef?.namespace}/${spec.claimRef?.name}`
        : missing.length > 0
          ? `cannot be used as ${missing.join(", ")}`
          : wanted !== undefined && size !== undefined && amount(size) < amount(wanted)
            ? `has ${size}, not ${wanted}`
            : `is ${status.phase ?? "there"}`;
      return { from: `volume ${metadata.name}`, says };
    });
}

const amount = (text: string): number => quantityToNumber(parseQuantity(text));
