// Gives devices to the claims of pods, together with the node.
// Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
import { DeviceClass } from "#api/resource/v1/device-class.ts";
import { type AllocationResult, ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { index } from "#client/cache.ts";
import { allocationResult } from "#rules/devices/allocation-result.ts";
import { AllocationError, type DeviceUse, searchDevices } from "#rules/devices/device-allocation.ts";
import { addAmounts } from "#rules/devices/device-capacity.ts";
import { gatherPools, poolKey, type SliceSource } from "#rules/devices/device-pools.ts";
import { SelectionError } from "#rules/devices/device-selection.ts";
import { amountsTaken, canBeReserved, devicesTaken, isReservedFor, resultsOf } from "#rules/devices/resource-claims.ts";
import { nodeSelector } from "#rules/node-selection.ts";
import { type PluginContext, type Refusal, schedulerPlugin } from "../framework.ts";
import type { NodeState } from "../node-state.ts";
import type { PodView } from "../pod-view.ts";
import { DeviceWrites, deallocate, deleteClaim } from "./device-writes.ts";
import {
  type ExtendedClaim,
  type ExtendedDemand,
  extendedClaim,
  extendedDemand,
  isExtendedClaimOf,
} from "./extended-devices.ts";
import { PendingAllocations } from "./pending-allocations.ts";
import { podDeviceClaims, usesDeviceClaim } from "./pod-device-claims.ts";

export interface DynamicResourcesArgs {
  readonly bindingTimeout?: string | undefined;
}

/** What the claims of a pod would get on a node. */
export interface DeviceChoice {
  /** For each claim that waits. */
  readonly results: readonly AllocationResult[];
  /** The claim for extended resources that is to be made, and what it gets. */
  readonly extended: (ExtendedClaim & { readonly result: AllocationResult }) | undefined;
}

export interface DeviceClaims {
  readonly claims: readonly ResourceClaim[];
  /** Those that have no devices yet. */
  readonly waiting: readonly ResourceClaim[];
  readonly extended: ExtendedDemand | undefined;
  readonly found: Map<string, DeviceChoice | Refusal>;
  /** Claims that have devices which some node does not reach. */
  readonly unavailable: Set<ResourceClaim>;
  /** What was decided with the node. */
  chosen: DeviceChoice | undefined;
}

const slicesByNode = index(ResourceSlice, ({ spec }) => [spec.nodeName ?? ""]);
const slicesByPool = index(ResourceSlice, (slice) => [poolKey(slice)]);
const claimsByDevice = index(ResourceClaim, (claim) => [...new Set(devicesTaken(resultsOf(claim)))]);

const cannotAllocate: Refusal = { reason: "cannot allocate all claims", stuck: true };
const notAvailable: Refusal = { reason: "resourceclaim not available on the node", stuck: true };
const isLeftover: Refusal = { reason: "cannot schedule extended resource claim", stuck: true };
const refusal = (reason: string): Refusal => ({ reason, stuck: true });

export function dynamicResources(args: DynamicResourcesArgs, context: PluginContext) {
  const { cache, random } = context;
  const pending = new PendingAllocations(cache);
  const writes = new DeviceWrites({ pending, cache, timeout: args.bindingTimeout ?? "600s", act: context.act });
  const states = new WeakMap<PodView, DeviceClaims>();
  const slices: SliceSource = {
    near: (node) => [...cache.by(slicesByNode, node), ...cache.by(slicesByNode, "")],
    ofPool: (key) => cache.by(slicesByPool, key),
  };
  const useBesides = (except: ReadonlySet<string>): DeviceUse => ({
    isTaken: (id) => cache.count(claimsByDevice, id) > 0 || pending.has(id, except),
    taken(id) {
      const sum = new Map(pending.taken(id, except));
      for (const claim of cache.by(claimsByDevice, id)) addAmounts(sum, amountsTaken(resultsOf(claim), id));
      return sum;
    },
  });

  function allocate(pod: PodView, { waiting, extended }: DeviceClaims, node: NodeState): DeviceChoice | Refusal {
    const made = extended && extendedClaim(pod, extended, node);
    const claims = [...waiting, ...(made ? [made.claim] : [])];
    if (claims.length === 0) return { results: [], extended: undefined };
    try {
      const given = searchDevices({
        claims,
        pools: gatherPools(node, slices),
        classOf: (name) => cache.get(DeviceClass, { name }),
        use: useBesides(new Set(claims.map(({ metadata }) => metadata.uid ?? ""))),
      });
      if (!given) return cannotAllocate;
      const all = claims.map((claim, i) => allocationResult(claim, given[i] ?? [], node.name, () => random.uuid()));
      const result = made && all.at(-1);
      return { results: all.slice(0, waiting.length), extended: made && result ? { ...made, result } : undefined };
    } catch (error) {
      if (error instanceof AllocationError || error instanceof SelectionError) return refusal(error.message);
      throw error;
    }
  }

  return schedulerPlugin({
    name: "DynamicResources",
    reads: [ResourceClaim, ResourceSlice, DeviceClass],
    wakes: [
      { kind: "Pod", on: ["claims"] },
      { kind: "Node", on: ["add", "labels"] },
      // A claim of the pod has changed, or another one has given devices back.
      {
        kind: "ResourceClaim",
        on: ["add", "update", "delete"],
        cures: (pod, { old, now }) =>
          usesDeviceClaim(pod, now) || gaveBack(old, now) || (!now && isExtendedClaimOf(pod, old)),
      },
      { kind: "ResourceSlice", on: ["add", "update", "delete"] },
      { kind: "DeviceClass", on: ["add", "update"] },
    ],

    preEnqueue(pod) {
      if (!pod.pod.spec.resourceClaims?.length) return undefined;
      const claims = podDeviceClaims(pod, cache);
      return typeof claims === "string" ? refusal(claims) : undefined;
    },
    preFilter(pod) {
      const extended = pod.request.others.size > 0 ? extendedDemand(pod, cache, () => random.uuid()) : undefined;
      if (!pod.pod.spec.resourceClaims?.length && !extended) return undefined;
      pending.settle();
      const claims = podDeviceClaims(pod, cache);
      if (typeof claims === "string") return refusal(claims);
      for (const claim of claims) {
        const { namespace, name } = claim.metadata;
        if (claim.status.allocation && !isReservedFor(claim, pod.pod) && !canBeReserved(claim))
          return refusal("resourceclaim in use");
        if (!claim.status.allocation && pending.isBusy(claim))
          return refusal(`resource claim ${namespace}/${name} is in the process of being allocated`);
      }
      const waiting = claims.filter(({ status }) => !status.allocation);
      const state: DeviceClaims = {
        claims,
        waiting,
        extended,
        found: new Map(),
        unavailable: new Set(),
        chosen: undefined,
      };
      states.set(pod, state);
      return { state };
    },
    filter(pod, node, state: DeviceClaims) {
      if (state.extended?.leftover) return isLeftover;
      for (const claim of state.claims) {
        const selector = claim.status.allocation?.nodeSelector;
        if (!selector || nodeSelector(selector)(node)) continue;
        state.unavailable.add(claim);
        return notAvailable;
      }
      if (state.waiting.length === 0 && !state.extended) return undefined;
      const found = allocate(pod, state, node);
      state.found.set(node.name, found);
      return "reason" in found ? found : undefined;
    },
    postFilter(pod) {
      const state = states.get(pod);
      if (!state) return { message: "" };
      const leftover = state.extended?.leftover;
      if (leftover) {
        context.act(pod, "delete an extended resource claim", (binding) => deleteClaim(leftover, binding));
        return { message: "deletion of ResourceClaim completed" };
      }
      const [claim] = [...state.unavailable].filter(({ status: { reservedFor = [] } }) =>
        reservedFor.every(({ uid }) => uid === pod.uid),
      );
      if (!claim) return { message: "still not schedulable" };
      context.act(pod, "give devices of a claim back", (binding) => deallocate(claim, binding));
      return { message: "deallocation of ResourceClaim completed" };
    },

    preScore(pod) {
      const state = states.get(pod);
      const hasChoice = state?.waiting.some(({ spec }) =>
        spec.devices.requests.some((one) => one.firstAvailable?.length),
      );
      return state && hasChoice ? { state } : undefined;
    },
    score(_pod, node, state: DeviceClaims) {
      const found = state.found.get(node.name);
      if (!found || "reason" in found) return 0;
      return found.results.reduce(
        (sum, { devices }, i) => sum + preference(state.waiting[i], devices.results ?? []),
        0,
      );
    },
    normalize(scores, nodes) {
      const most = scores.subarray(0, nodes.length).reduce((a, b) => Math.max(a, b), 0);
      if (most > 0) for (let i = 0; i < nodes.length; i++) scores[i] = Math.trunc(((scores[i] ?? 0) * 100) / most);
    },

    reserve(pod, node, state: DeviceClaims | undefined) {
      if (!state || (state.waiting.length === 0 && !state.extended)) return undefined;
      const found = state.found.get(node.name) ?? allocate(pod, state, node);
      if ("reason" in found) return found;
      state.chosen = found;
      for (const [i, claim] of state.waiting.entries()) pending.begin(claim, found.results[i] as AllocationResult);
      if (found.extended) pending.begin(found.extended.claim, found.extended.result);
      return undefined;
    },
    unreserve(pod, _node, state: DeviceClaims | undefined) {
      if (state?.chosen) writes.takeBack(pod, state);
    },
    async preBind(pod, _node, binding, state: DeviceClaims | undefined) {
      if (state) await writes.write(pod, state, binding);
    },
  });
}

/** Alternatives that come first are better. */
const mostAlternatives = 8;
function preference(
  claim: ResourceClaim | undefined,
  results: NonNullable<AllocationResult["devices"]["results"]>,
): number {
  const taken = new Set(results.map(({ request }) => request));
  return (claim?.spec.devices.requests ?? []).reduce((sum, { name, firstAvailable = [] }) => {
    const at = firstAvailable.findIndex((one) => taken.has(`${name}/${one.name}`));
    return at < 0 ? sum : sum + mostAlternatives - at;
  }, 0);
}

const gaveBack = (old: ResourceClaim | undefined, now: ResourceClaim | undefined): boolean =>
  old?.status.allocation !== undefined && now?.status.allocation === undefined;
