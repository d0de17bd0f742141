// Writes which devices claims got, and for whom, before the pod is bound; and takes that back if it is not.
// Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
import { Pod } from "#api/core/v1/pod.ts";
import { type AllocationResult, ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { parseDurationMs } from "#base/duration.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import { backoffMs } from "#base/retry.ts";
import type { CacheView } from "#client/controller.ts";
import { extendedClaimAnnotation } from "#rules/devices/extended-resources.ts";
import { claimFinalizer, consumerOf, isReservedFor, resultsOf } from "#rules/devices/resource-claims.ts";
import { controlledBy } from "#rules/owners.ts";
import { timeOf } from "#schema/time.ts";
import type { BindingContext, PluginContext } from "../framework.ts";
import type { PodView } from "../pod-view.ts";
import type { DeviceChoice, DeviceClaims } from "./dynamic-resources.ts";
import type { PendingAllocations } from "./pending-allocations.ts";

const mostConflicts = 5;
/** How often to look whether devices are ready. */
const looks = { firstMs: 100, maxMs: 5000 };

/** How long to wait for the cache to show a claim that was made. */
const visibleMs = 120_000;
const visibleLooks = { firstMs: 10, maxMs: 1000 };

export interface DeviceWritesOptions {
  readonly pending: PendingAllocations;
  readonly cache: CacheView;
  /** How long devices may take to be ready. */
  readonly timeout: string;
  readonly act: PluginContext["act"];
}

export class DeviceWrites {
  readonly #pending: PendingAllocations;
  readonly #cache: CacheView;
  readonly #timeoutMs: number;
  readonly #act: PluginContext["act"];
  /** Claims for extended resources that have been made. */
  readonly #made = new WeakMap<DeviceClaims, ResourceClaim>();
  /** Claims that have been written for a pod, or may have been. */
  readonly #begun = new WeakMap<DeviceClaims, Map<string, ResourceClaim>>();

  constructor({ pending, cache, timeout, act }: DeviceWritesOptions) {
    this.#pending = pending;
    this.#cache = cache;
    this.#timeoutMs = parseDurationMs(timeout);
    this.#act = act;
  }

  async write(pod: PodView, state: DeviceClaims, binding: BindingContext): Promise<void> {
    const begun = new Map<string, ResourceClaim>();
    this.#begun.set(state, begun);
    const written: ResourceClaim[] = [];
    for (const claim of state.claims) {
      const allocation = state.chosen?.results[state.waiting.indexOf(claim)];
      if (!allocation && isReservedFor(claim, pod.pod)) continue;
      written.push(await this.#writeOne(pod, claim, allocation, begun, binding));
    }
    const extended = state.chosen?.extended;
    if (extended) written.push(await this.#writeExtended(pod, state, extended, begun, binding));
    await this.#untilReady(written, binding);
  }

  /** Makes the claim, gives it its devices, and tells the pod of it. */
  async #writeExtended(
    view: PodView,
    state: DeviceClaims,
    { claim: draft, mappings, result }: NonNullable<DeviceChoice["extended"]>,
    begun: Map<string, ResourceClaim>,
    binding: BindingContext,
  ): Promise<ResourceClaim> {
    const { pod, name, namespace } = view;
    const made = await binding.client.create(ResourceClaim, {
      metadata: {
        namespace,
        generateName: `${name}-extended-resources-`,
        ownerReferences: [{ ...controlledBy(Pod, pod), blockOwnerDeletion: undefined }],
        annotations: { [extendedClaimAnnotation]: "true" },
      },
      spec: draft.spec,
    });
    this.#made.set(state, made);
    await this.#untilVisible(made, binding);
    this.#pending.rename(draft, made);
    const written = await this.#writeOne(view, made, result, begun, binding);
    const extendedResourceClaimStatus = { requestMappings: mappings, resourceClaimName: made.metadata.name };
    await binding.client.patch(
      Pod,
      { namespace, name },
      "merge",
      { metadata: { uid: pod.metadata.uid }, status: { extendedResourceClaimStatus } },
      { subresource: "status" },
    );
    return written;
  }

  /** What is pending is known by what the cache shows, so it must show the claim first. */
  async #untilVisible({ metadata }: ResourceClaim, { clock, signal }: BindingContext): Promise<void> {
    const end = clock.elapsed() + visibleMs;
    for (let i = 0; this.#cache.get(ResourceClaim, metadata)?.metadata.uid !== metadata.uid; i++) {
      if (clock.elapsed() >= end)
        throw new Error(`claim ${metadata.namespace}/${metadata.name} did not become visible`);
      await clock.sleep(backoffMs(visibleLooks, i), signal);
    }
  }

  /** What was never written is free at once; of the rest it is not known what became of it. */
  takeBack(pod: PodView, state: DeviceClaims): void {
    const begun = this.#begun.get(state);
    const made = this.#made.get(state);
    const draft = state.chosen?.extended?.claim;
    for (const claim of [...state.waiting, ...(draft ? [draft] : []), ...(made ? [made] : [])]) {
      const base = begun?.get(claim.metadata.uid ?? "");
      if (base) this.#pending.failed(base);
      else this.#pending.forget(claim);
    }
    if (made) this.#act(pod, "delete an extended resource claim", (binding) => deleteClaim(made, binding));
  }

  async #writeOne(
    pod: PodView,
    claim: ResourceClaim,
    allocation: AllocationResult | undefined,
    begun: Map<string, ResourceClaim>,
    { client, clock }: BindingContext,
  ): Promise<ResourceClaim> {
    let base = claim;
    for (let conflicts = 0; ; conflicts++)
      try {
        const { namespace, name, uid, deletionTimestamp, finalizers = [] } = base.metadata;
        const where = `claim ${namespace}/${name}`;
        if (deletionTimestamp || uid !== claim.metadata.uid) throw new Error(`${where} got deleted in the meantime`);
        if (allocation && base.status.allocation) throw new Error(`${where} got allocated elsewhere in the meantime`);
        if (!allocation && !base.status.allocation)
          throw new Error(`${where} got deallocated elsewhere in the meantime`);
        if (allocation && !finalizers.includes(claimFinalizer))
          base = await client.update(ResourceClaim, {
            ...base,
            metadata: { ...base.metadata, finalizers: [...finalizers, claimFinalizer] },
          });
        begun.set(uid ?? "", base);
        const given = allocation && { ...allocation, allocationTimestamp: timeOf(clock.now()) };
        const reservedFor = [...(base.status.reservedFor ?? []), consumerOf(pod.pod)];
        const status = { ...base.status, ...(given && { allocation: given }), reservedFor };
        const written = await client.update(ResourceClaim, { ...base, status }, "status");
        if (allocation) this.#pending.written(written);
        begun.set(uid ?? "", written);
        return written;
      } catch (error) {
        if (!isConflict(error) || conflicts >= mostConflicts) throw error;
        base = await client.get(ResourceClaim, claim.metadata);
      }
  }

  /** Some devices must be made ready for the node before the pod may come. */
  async #untilReady(claims: readonly ResourceClaim[], { clock, signal }: BindingContext): Promise<void> {
    const waiting = claims.filter((claim) => resultsOf(claim).some((one) => one.bindingConditions?.length));
    const end = clock.elapsed() + this.#timeoutMs;
    for (let i = 0; !waiting.every((claim) => this.#isReady(claim)); i++) {
      if (clock.elapsed() >= end) throw new Error("device binding timeout");
      await clock.sleep(backoffMs(looks, i), signal);
    }
  }

  #isReady({ metadata }: ResourceClaim): boolean {
    const claim = this.#cache.get(ResourceClaim, metadata);
    if (claim?.metadata.uid !== metadata.uid) throw new Error(`claim ${metadata.namespace}/${metadata.name} is gone`);
    return resultsOf(claim).every(({ driver, pool, device, bindingConditions = [], bindingFailureConditions = [] }) => {
      const conditions =
        claim.status.devices?.find((one) => one.driver === driver && one.pool === pool && one.device === device)
          ?.conditions ?? [];
      const isTrue = (name: string) => conditions.some(({ type, status }) => type === name && status === "True");
      const failure = bindingFailureConditions.find(isTrue);
      if (failure)
        throw new Error(`claim ${metadata.name} binding failed: device ${device} has the condition ${failure}`);
      return bindingConditions.every(isTrue);
    });
  }
}

/** Deletes a claim that was made for a pod which does not go where its devices are. */
export async function deleteClaim({ metadata }: ResourceClaim, { client }: BindingContext): Promise<void> {
  for (let conflicts = 0; ; conflicts++)
    try {
      const claim = await client.get(ResourceClaim, metadata);
      if (claim.metadata.uid !== metadata.uid) return;
      const finalizers = (claim.metadata.finalizers ?? []).filter((one) => one !== claimFinalizer);
      if (finalizers.length < (claim.metadata.finalizers ?? []).length)
        await client.update(ResourceClaim, { ...claim, metadata: { ...claim.metadata, finalizers } });
      await client.delete(ResourceClaim, metadata, { preconditions: { uid: metadata.uid ?? "" } });
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error) || conflicts >= mostConflicts) throw error;
    }
}

/** Takes the devices of a claim that nobody uses, so that it may get others elsewhere. */
export async function deallocate(claim: ResourceClaim, { client }: BindingContext): Promise<void> {
  const { allocation: _allocation, devices: _devices, reservedFor: _reservedFor, ...status } = claim.status;
  try {
    await client.update(ResourceClaim, { ...claim, status }, "status");
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error; // someone else was faster: it is looked at again
  }
}
