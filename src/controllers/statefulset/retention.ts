// Who owns the claims of a StatefulSet's pods, and so what becomes of them when a pod or the set goes for good:
//
//   whenScaled  whenDeleted  owner of a claim
//   Retain      Retain       none
//   Retain      Delete       the set
//   Delete      Retain       the pod, once it is beyond the number that is wanted
//   Delete      Delete       the set, and in its place the pod once it is beyond that number
// Upstream: pkg/controller/statefulset/stateful_set_utils.go.
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { controlledBy } from "#rules/owners.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import type { ObjectMeta, OwnerReference } from "#schema/object-meta.ts";
import { isInRange } from "./identity.ts";

/** The member a claim belongs to. A pod that is still to be created has no uid. */
export interface SetMember {
  readonly set: StatefulSet;
  readonly ordinal: number;
  readonly pod: { readonly metadata: ObjectMeta };
}

interface Policy {
  readonly whenScaled: string;
  readonly whenDeleted: string;
}
const policyOf = ({ spec }: StatefulSet): Policy =>
  spec.persistentVolumeClaimRetentionPolicy ?? { whenScaled: "Retain", whenDeleted: "Retain" };

/** Whether the claim has the owner references that the policy asks for. A claim of an earlier set or pod is left as it is. */
export function isOwnedRightly(claim: PersistentVolumeClaim, member: SetMember): boolean {
  if (hasStaleOwner(claim, StatefulSet, member.set) || hasStaleOwner(claim, Pod, member.pod)) return true;
  const isOwned = hasOwner(claim, member.set) || hasOwner(claim, member.pod);
  if (hasOtherController(claim, member)) return !isOwned;
  if (hasOwnerWithoutControl(claim, member)) return false;
  const wanted = wantedOwners(member);
  return hasOwner(claim, member.set) === wanted.set && hasOwner(claim, member.pod) === wanted.pod;
}

/** The claim with the owners it should have; where someone else controls it, without ours. */
export function rightlyOwned(claim: PersistentVolumeClaim, member: SetMember): PersistentVolumeClaim {
  const { set, pod } = member;
  const others = ownersOf(claim).filter((one) => !refersTo(one, StatefulSet, set) && !refersTo(one, Pod, pod));
  const wanted = hasOtherController(claim, member) ? { set: false, pod: false } : wantedOwners(member);
  const ownerReferences = [
    ...others,
    ...(wanted.set ? [controlledBy(StatefulSet, set)] : []),
    ...(wanted.pod ? [controlledBy(Pod, pod)] : []),
  ];
  return { ...claim, metadata: { ...claim.metadata, ownerReferences } };
}

function wantedOwners({ set, ordinal }: SetMember): { readonly set: boolean; readonly pod: boolean } {
  const { whenScaled, whenDeleted } = policyOf(set);
  const isScaledDown = !isInRange(set, ordinal);
  const ofPod = whenScaled === "Delete" && isScaledDown;
  return { set: whenDeleted === "Delete" && !ofPod, pod: ofPod };
}

/** Whether the claim is still that of an earlier pod, and will go with it: a new pod must not use it. */
export const isStale = (claim: PersistentVolumeClaim, { set, pod }: SetMember): boolean =>
  policyOf(set).whenScaled === "Delete" && hasStaleOwner(claim, Pod, pod);

/** Whether another controller owns the claim, where the policy asks for an owner reference of ours. */
export function hasOtherController(claim: PersistentVolumeClaim, { set, pod }: SetMember): boolean {
  const { whenScaled, whenDeleted } = policyOf(set);
  if (whenScaled !== "Delete" && whenDeleted !== "Delete") return false;
  return ownersOf(claim).some((one) => {
    if (refersTo(one, StatefulSet, set)) return one.uid !== set.metadata.uid;
    if (refersTo(one, Pod, pod)) return one.uid !== pod.metadata.uid;
    return one.controller === true;
  });
}

const hasOwnerWithoutControl = (claim: PersistentVolumeClaim, { set, pod }: SetMember): boolean =>
  ownersOf(claim).some(
    ({ uid, controller }) => (uid === set.metadata.uid || uid === pod.metadata.uid) && controller !== true,
  );

const ownersOf = ({ metadata }: PersistentVolumeClaim): readonly OwnerReference[] => metadata.ownerReferences ?? [];

const hasOwner = (claim: PersistentVolumeClaim, owner: unknown): boolean =>
  ownersOf(claim).some(({ uid }) => uid === metadataOf(owner).uid);

const refersTo = (one: OwnerReference, { apiVersion, kind }: AnyKind, owner: unknown): boolean =>
  one.apiVersion === apiVersion && one.kind === kind && one.name === metadataOf(owner).name;

/** Whether the claim belongs to an earlier object of the same name. */
function hasStaleOwner(claim: PersistentVolumeClaim, kind: AnyKind, owner: unknown): boolean {
  const found = ownersOf(claim).find((one) => refersTo(one, kind, owner));
  return found !== undefined && found.uid !== metadataOf(owner).uid;
}
