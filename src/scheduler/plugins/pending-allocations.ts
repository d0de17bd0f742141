// Devices that were given to claims, but the cache does not show it yet. Nobody else gets them until it is certain that the claim did not
// get them: a write that failed may still have happened, and only a later version of the claim says that it cannot happen any more.
// Upstream: pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go.
import { type AllocationResult, ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import type { CacheView } from "#client/controller.ts";
import { type Amounts, addAmounts } from "#rules/devices/device-capacity.ts";
import { amountsTaken, devicesTaken } from "#rules/devices/resource-claims.ts";
import type { Quantity } from "#schema/quantity.ts";

interface PendingAllocation {
  readonly claim: ResourceClaim;
  /** All that may have been written. */
  readonly tried: AllocationResult[];
  /** From which version of the claim on it is certain; undefined while the pod is being bound. */
  certainFrom: number | undefined;
  isWritten: boolean;
}

export class PendingAllocations {
  readonly #cache: CacheView;
  readonly #byClaim = new Map<string, PendingAllocation>();

  constructor(cache: CacheView) {
    this.#cache = cache;
  }

  /** Whether the claim is about to get devices, or has got them and the cache does not know. */
  isBusy({ metadata }: ResourceClaim): boolean {
    const pending = this.#byClaim.get(metadata.uid ?? "");
    return pending !== undefined && (pending.certainFrom === undefined || pending.isWritten);
  }

  begin(claim: ResourceClaim, allocation: AllocationResult): void {
    const uid = claim.metadata.uid ?? "";
    const tried = [...(this.#byClaim.get(uid)?.tried ?? []), allocation];
    this.#byClaim.set(uid, { claim, tried, certainFrom: undefined, isWritten: false });
  }

  /** A claim that was only thought of has been made. */
  rename({ metadata: { uid: draft = "" } }: ResourceClaim, claim: ResourceClaim): void {
    const pending = this.#byClaim.get(draft);
    if (!pending) return;
    this.#byClaim.delete(draft);
    this.#byClaim.set(claim.metadata.uid ?? "", { ...pending, claim });
  }

  /** The claim has its devices, and says so from this version on. */
  written({ metadata }: ResourceClaim): void {
    this.#end(metadata, Number(metadata.resourceVersion), true);
  }

  /** Writes that were based on this version have failed, or seemed to. */
  failed({ metadata }: ResourceClaim): void {
    this.#end(metadata, Number(metadata.resourceVersion) + 1, false);
  }

  /** Nothing was ever written. */
  forget({ metadata }: ResourceClaim): void {
    const pending = this.#byClaim.get(metadata.uid ?? "");
    if (!pending) return;
    pending.tried.pop();
    if (pending.tried.length === 0) this.#byClaim.delete(metadata.uid ?? "");
    else pending.certainFrom = Number(metadata.resourceVersion) + 1;
  }

  /** Forgets what the cache shows by now. */
  settle(): void {
    for (const [uid, { claim, certainFrom }] of this.#byClaim) {
      if (certainFrom === undefined) continue;
      const known = this.#cache.get(ResourceClaim, claim.metadata);
      if (known?.metadata.uid !== uid || Number(known.metadata.resourceVersion) >= certainFrom)
        this.#byClaim.delete(uid);
    }
  }

  /** Whether a claim other than these may have the device. */
  has(id: string, except: ReadonlySet<string>): boolean {
    for (const [uid, { tried }] of this.#byClaim)
      if (!except.has(uid) && tried.some(({ devices }) => devicesTaken(devices.results ?? []).includes(id)))
        return true;
    return false;
  }

  /** The most that claims other than these may have taken of a device that several share. */
  taken(id: string, except: ReadonlySet<string>): Amounts {
    const sum = new Map<string, Quantity>();
    for (const [uid, { tried }] of this.#byClaim)
      if (!except.has(uid)) for (const { devices } of tried) addAmounts(sum, amountsTaken(devices.results ?? [], id));
    return sum;
  }

  #end({ uid = "" }: ResourceClaim["metadata"], certainFrom: number, isWritten: boolean): void {
    const pending = this.#byClaim.get(uid);
    if (pending && !pending.isWritten) Object.assign(pending, { certainFrom, isWritten });
  }
}
