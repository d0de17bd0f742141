// Which volumes a pod's claims would get on a node: one that is there, or one that can be made.
// Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { CSIStorageCapacity } from "#api/storage/v1/csi-storage-capacity.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import type { CacheView } from "#client/controller.ts";
import type { Selectable } from "#rules/node-selection.ts";
import { classOf, isReachable, noProvisioner, requestedBytes, selectedNode } from "#rules/volumes.ts";
import { selectedBy } from "../affinity-term.ts";
import type { Refusal } from "../framework.ts";
import { amount } from "../resources.ts";
import { VolumeCandidates } from "./volume-candidates.ts";

export interface VolumeChoice {
  readonly bindings: readonly { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }[];
  /** Claims for which a volume is made. */
  readonly provisions: readonly PersistentVolumeClaim[];
}

export interface ClaimsToPlace {
  readonly bound: readonly PersistentVolumeClaim[];
  /** Their volumes are chosen with the node. */
  readonly waiting: readonly PersistentVolumeClaim[];
  /** The same, once it was looked up what they could have: the smallest first, so that each gets the smallest volume that will do. */
  prepared?: readonly PreparedClaim[];
}

interface PreparedClaim {
  readonly claim: PersistentVolumeClaim;
  /** Where a volume is being made for it. */
  readonly selected: string | undefined;
  readonly candidates: VolumeCandidates;
  readonly storageClass: StorageClass | undefined;
}

export interface VolumeSource {
  readonly cache: CacheView;
  /** As known or assumed. */
  volume(name: string): PersistentVolume | undefined;
  /** Those that are free, and those that name the claim. */
  volumesFor(claim: PersistentVolumeClaim): readonly PersistentVolume[];
}

const unreachable: Refusal = { reason: "node(s) didn't match PersistentVolume's node affinity", stuck: true };
const noneToBind: Refusal = { reason: "node(s) didn't find available persistent volumes to bind", stuck: true };
const tooFull: Refusal = { reason: "node(s) did not have enough free storage", stuck: true };
const lost: Refusal = {
  reason: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
  stuck: true,
};

const nothing: VolumeChoice = { bindings: [], provisions: [] };

export function chooseVolumes(claims: ClaimsToPlace, node: Selectable, source: VolumeSource): VolumeChoice | Refusal {
  for (const { spec } of claims.bound) {
    const volume = source.volume(spec.volumeName ?? "");
    if (!volume) return lost;
    if (!isReachable(volume, node)) return unreachable;
  }
  if (claims.waiting.length === 0) return nothing;
  claims.prepared ??= prepare(claims.waiting, source);
  for (const { selected } of claims.prepared) if (selected !== undefined && selected !== node.name) return noneToBind;
  const taken = new Set<string>();
  const provisions: PersistentVolumeClaim[] = [];
  const bindings: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = [];
  for (const prepared of claims.prepared) {
    const { claim, selected, candidates } = prepared;
    const volume = selected === undefined ? candidates.smallestOn(node, taken) : undefined;
    if (volume) {
      taken.add(volume.metadata.name);
      bindings.push({ claim, volume });
      continue;
    }
    const refusal = provisionRefusal(prepared, node, source.cache);
    if (refusal) return refusal;
    provisions.push(claim);
  }
  return { bindings, provisions };
}

/** Whether it is plain that a claim can have no volume on the node, without a look at other claims. */
export function hasNoVolumes(claims: ClaimsToPlace, node: Selectable, source: VolumeSource): boolean {
  claims.prepared ??= prepare(claims.waiting, source);
  for (const { selected, candidates, storageClass } of claims.prepared) {
    if (selected !== undefined && selected !== node.name) return true;
    if (selected === undefined && storageClass?.provisioner === noProvisioner && candidates.areElsewhere(node))
      return true;
  }
  return false;
}

const prepare = (waiting: readonly PersistentVolumeClaim[], source: VolumeSource): readonly PreparedClaim[] =>
  waiting
    .toSorted((a, b) => requestedBytes(a) - requestedBytes(b))
    .map((claim) => ({
      claim,
      selected: claim.metadata.annotations?.[selectedNode],
      candidates: new VolumeCandidates(claim, source.volumesFor(claim)),
      storageClass: source.cache.get(StorageClass, { name: classOf(claim) }),
    }));

/** Why no volume can be made for a claim on the node. */
function provisionRefusal(
  { claim, storageClass }: PreparedClaim,
  node: Selectable,
  cache: CacheView,
): Refusal | undefined {
  const className = classOf(claim);
  if (!storageClass) throw new Error(`failed to find storage class "${className}"`);
  const { provisioner, allowedTopologies = [] } = storageClass;
  if (!provisioner || provisioner === noProvisioner) return noneToBind;
  const isAllowed =
    allowedTopologies.length === 0 ||
    allowedTopologies.some(({ matchLabelExpressions = [] }) =>
      matchLabelExpressions.every(({ key, values }) => values.includes(node.labels[key] ?? "\n")),
    );
  if (!isAllowed) return noneToBind;
  return hasRoom(claim, { className, provisioner }, node, cache) ? undefined : tooFull;
}

/** Only drivers that say how much they have left are held to it. */
function hasRoom(
  claim: PersistentVolumeClaim,
  { className, provisioner }: { readonly className: string; readonly provisioner: string },
  { labels }: Selectable,
  cache: CacheView,
): boolean {
  if (claim.spec.resources.requests?.storage === undefined) return true;
  if (cache.get(CSIDriver, { name: provisioner })?.spec.storageCapacity !== true) return true;
  const bytes = requestedBytes(claim);
  return cache.list(CSIStorageCapacity).some((part) => {
    const limit = part.maximumVolumeSize ?? part.capacity;
    if (part.storageClassName !== className || limit === undefined || amount("storage", limit) < bytes) return false;
    return part.nodeTopology !== undefined && selectedBy(part.nodeTopology).matches(labels);
  });
}
