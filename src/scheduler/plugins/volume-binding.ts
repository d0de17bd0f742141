// Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { CSIStorageCapacity } from "#api/storage/v1/csi-storage-capacity.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { equal } from "#base/collections.ts";
import { backoffMs } from "#base/retry.ts";
import { index } from "#client/cache.ts";
import { placeOf } from "#client/object-key.ts";
import { boundTo, claimKey, classOf, isFullyBound, isReachable, selectedNode, waitsForPod } from "#rules/volumes.ts";
import { type BindingContext, type PluginContext, type Refusal, schedulerPlugin } from "../framework.ts";
import type { NodeState } from "../node-state.ts";
import { amount } from "../resources.ts";
import { AssumedObjects } from "./assumed-objects.ts";
import { claimProblem, podClaims, usesClaim } from "./claims.ts";
import {
  type ClaimsToPlace,
  chooseVolumes,
  hasNoVolumes,
  type VolumeChoice,
  type VolumeSource,
} from "./volume-choice.ts";

export interface VolumeBindingArgs {
  /** How long a pod waits for its volumes once its node is chosen. */
  readonly bindTimeoutSeconds?: number;
}

interface Volumes extends ClaimsToPlace {
  /** What was decided with the node. */
  chosen: VolumeChoice | undefined;
}

/** Volumes that a claim could be given, by class; and those that name a claim, by class and claim. */
const volumesToChoose = index(PersistentVolume, (volume) => {
  const { claimRef } = volume.spec;
  return [claimRef ? `${classOf(volume)} ${claimRef.namespace ?? ""}/${claimRef.name ?? ""}` : classOf(volume)];
});
const unbound: Refusal = { reason: "pod has unbound immediate PersistentVolumeClaims", stuck: true };
/** How often to look whether the volumes are bound: most are within milliseconds. */
const looks = { firstMs: 10, maxMs: 1000 };

/** Chooses volumes together with the node, so that a pod is not put where its storage cannot follow. */
export function volumeBinding({ bindTimeoutSeconds = 600 }: VolumeBindingArgs, { cache }: PluginContext) {
  const volumes = new AssumedObjects<PersistentVolume>((name) => cache.get(PersistentVolume, { name }));
  const claims = new AssumedObjects<PersistentVolumeClaim>((key) => cache.get(PersistentVolumeClaim, placeOf(key)));
  const source: VolumeSource = {
    cache,
    volume: (name) => volumes.get(name),
    volumesFor: (claim) =>
      [classOf(claim), `${classOf(claim)} ${claimKey(claim)}`]
        .flatMap((key) => cache.by(volumesToChoose, key))
        .map((volume) => volumes.of(volume.metadata.name, volume)),
  };
  const bindings = new VolumeWrites(volumes, claims, cache, bindTimeoutSeconds * 1000);

  return schedulerPlugin({
    name: "VolumeBinding",
    reads: [PersistentVolume, PersistentVolumeClaim, StorageClass, CSIDriver, CSIStorageCapacity],
    wakes: [
      {
        kind: "StorageClass",
        on: ["add", "update"],
        cures: (_pod, { old, now }) => !old || !equal(old.allowedTopologies, now?.allowedTopologies),
      },
      { kind: "PersistentVolumeClaim", on: ["add", "update"], cures: (pod, { now }) => usesClaim(pod, now) },
      { kind: "PersistentVolume", on: ["add", "update"] },
      { kind: "Node", on: ["add", "labels"] },
      {
        kind: "CSIDriver",
        on: ["update"],
        cures: (_pod, { old, now }) => old?.spec.storageCapacity === true && now?.spec.storageCapacity !== true,
      },
      {
        kind: "CSIStorageCapacity",
        on: ["add", "update"],
        cures: (_pod, { old, now }) => !old || roomOf(now) > roomOf(old),
      },
    ],

    preFilter(pod) {
      if (pod.claims.length === 0) return undefined;
      const wanted = podClaims(pod, cache);
      const problem = claimProblem(pod, wanted);
      if (problem !== undefined) return { reason: problem, stuck: true };
      const all = wanted.flatMap(({ claim }) => (claim ? [claims.of(claimKey(claim), claim)] : []));
      const waiting = all.filter((claim) => !isFullyBound(claim));
      // One that names its volume, or whose class does not wait, is for the volume controller to bind first.
      if (
        waiting.some(
          (claim) => claim.spec.volumeName || !waitsForPod(cache.get(StorageClass, { name: classOf(claim) })),
        )
      )
        return unbound;
      const state: Volumes = { bound: all.filter(isFullyBound), waiting, chosen: undefined };
      return waiting.length === 0 ? { state } : { state, isHopeless: (node) => hasNoVolumes(state, node, source) };
    },
    filter(_pod, node, state: Volumes) {
      const choice = chooseVolumes(state, node, source);
      return "reason" in choice ? choice : undefined;
    },

    reserve(_pod, node, state: Volumes | undefined) {
      if (!state) return undefined;
      const choice = chooseVolumes(state, node, source);
      if ("reason" in choice) return choice;
      state.chosen = bindings.assume(choice, node);
      return undefined;
    },
    unreserve(_pod, _node, state: Volumes | undefined) {
      if (state?.chosen) bindings.forget(state.chosen);
    },
    async preBind(_pod, node, context, state: Volumes | undefined) {
      if (state?.chosen) await bindings.write(state.chosen, node, context);
    },
  });
}

const roomOf = (part: CSIStorageCapacity | undefined): number =>
  amount("storage", part?.maximumVolumeSize ?? part?.capacity ?? "0");

/** Writes what was decided about volumes, and waits for the volume controller to do its part. */
class VolumeWrites {
  readonly #volumes: AssumedObjects<PersistentVolume>;
  readonly #claims: AssumedObjects<PersistentVolumeClaim>;
  readonly #cache: PluginContext["cache"];
  readonly #timeoutMs: number;

  constructor(
    volumes: AssumedObjects<PersistentVolume>,
    claims: AssumedObjects<PersistentVolumeClaim>,
    cache: PluginContext["cache"],
    timeoutMs: number,
  ) {
    this.#volumes = volumes;
    this.#claims = claims;
    this.#cache = cache;
    this.#timeoutMs = timeoutMs;
  }

  /** The same choice with the objects as they will be. */
  assume(choice: VolumeChoice, { name }: NodeState): VolumeChoice {
    const bindings = choice.bindings.map(({ claim, volume }) => ({ claim, volume: boundTo(volume, claim) }));
    const provisions = choice.provisions.map((claim) => selecting(claim, name));
    for (const { volume } of bindings) this.#volumes.assume(volume.metadata.name, volume);
    for (const claim of provisions) this.#claims.assume(claimKey(claim), claim);
    return { bindings, provisions };
  }

  forget({ bindings, provisions }: VolumeChoice): void {
    for (const { volume } of bindings) this.#volumes.forget(volume.metadata.name);
    for (const claim of provisions) this.#claims.forget(claimKey(claim));
  }

  async write(choice: VolumeChoice, node: NodeState, { client, clock, signal }: BindingContext): Promise<void> {
    if (choice.bindings.length === 0 && choice.provisions.length === 0) return;
    for (const { volume } of choice.bindings) await client.update(PersistentVolume, volume);
    for (const claim of choice.provisions) await client.update(PersistentVolumeClaim, claim);
    const end = clock.elapsed() + this.#timeoutMs;
    for (let i = 0; !this.#isDone(choice, node) && clock.elapsed() < end; i++)
      await clock.sleep(backoffMs(looks, i), signal);
    if (!this.#isDone(choice, node)) throw new Error("binding volumes: context deadline exceeded");
  }

  /** Whether all claims have their volumes. Throws when that will not come to pass. */
  #isDone({ bindings, provisions }: VolumeChoice, node: NodeState): boolean {
    for (const { claim, volume } of bindings) {
      const present = this.#cache.get(PersistentVolume, volume.metadata);
      if (!present) throw new Error(`binding volumes: persistentvolume "${volume.metadata.name}" not found`);
      if (!isOlder(present, volume) && !present.spec.claimRef?.uid)
        throw new Error(`binding volumes: ClaimRef got reset for pv "${volume.metadata.name}"`);
      if (!this.#isBound(claim, node)) return false;
    }
    for (const claim of provisions) {
      const present = this.#cache.get(PersistentVolumeClaim, claim.metadata);
      if (present && !isOlder(present, claim) && present.metadata.annotations?.[selectedNode] !== node.name)
        throw new Error(`binding volumes: provisioning failed for PVC "${claim.metadata.name}"`);
      if (!this.#isBound(claim, node)) return false;
    }
    return true;
  }

  #isBound({ metadata }: PersistentVolumeClaim, node: NodeState): boolean {
    const claim = this.#cache.get(PersistentVolumeClaim, metadata);
    if (!claim) throw new Error(`binding volumes: persistentvolumeclaim "${metadata.name}" not found`);
    const volume = this.#cache.get(PersistentVolume, { name: claim.spec.volumeName ?? "" });
    if (volume && !isReachable(volume, node))
      throw new Error(
        `binding volumes: pv "${volume.metadata.name}" node affinity doesn't match node "${node.name}": no matching NodeSelectorTerms`,
      );
    return volume !== undefined && isFullyBound(claim);
  }
}

type VersionedObject = { readonly metadata: { readonly resourceVersion?: string } };
/** What was written is newer than what it was made of. */
const isOlder = (present: VersionedObject, assumed: VersionedObject): boolean =>
  Number(present.metadata.resourceVersion) <= Number(assumed.metadata.resourceVersion);

const selecting = (claim: PersistentVolumeClaim, node: string): PersistentVolumeClaim => ({
  ...claim,
  metadata: { ...claim.metadata, annotations: { ...claim.metadata.annotations, [selectedNode]: node } },
});
