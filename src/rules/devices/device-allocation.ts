// Which devices claims get on a node: a search over requests and devices, one after the other, that takes back what leads nowhere.
// Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go.
import type { DeviceClass } from "#api/resource/v1/device-class.ts";
import type { DeviceSubRequest, DeviceToleration, ExactDeviceRequest } from "#api/resource/v1/device-request.ts";
import type { DeviceRequestAllocationResult, ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import type { DeviceTaint } from "#api/resource/v1/resource-slice.ts";
import { parseQuantity, type Quantity, zeroQuantity } from "#schema/quantity.ts";
import { type Amounts, addAmounts, consumption, hasLeft, written } from "./device-capacity.ts";
import { type ConstraintState, constraintsOf } from "./device-constraints.ts";
import type { DevicePool, PoolDevice } from "./device-pools.ts";
import { selects } from "./device-selection.ts";

/** What other claims have of devices. */
export interface DeviceUse {
  isTaken(id: string): boolean;
  /** What is taken of a device that several share. */
  taken(id: string): Amounts;
}

/** Why claims cannot be satisfied whatever devices there are. */
export class AllocationError extends Error {
  override readonly name = "AllocationError";
}

/** One way to satisfy a request. */
export interface RequestChoice {
  /** With the name of the alternative, where there are several. */
  readonly name: string;
  readonly asked: ExactDeviceRequest | DeviceSubRequest;
  readonly isAdmin: boolean;
  readonly deviceClass: DeviceClass;
  readonly candidates: readonly PoolDevice[];
  /** How many it needs; undefined if there are too few to have all. */
  readonly count: number | undefined;
}

export interface DeviceAssignment {
  readonly choice: RequestChoice;
  readonly from: PoolDevice;
  /** What it takes of a device that several share. */
  readonly amounts: Amounts | undefined;
}

export interface SearchOptions {
  readonly claims: readonly ResourceClaim[];
  readonly pools: readonly DevicePool[];
  readonly classOf: (name: string) => DeviceClass | undefined;
  readonly use: DeviceUse;
}

/** As many devices can be in one claim. */
export const mostResults = 32;
/** A search that takes longer than this leads nowhere in time for anyone. */
const mostTries = 1_000_000;

export const isTolerated = (
  { key, value = "", effect }: DeviceTaint,
  tolerations: readonly DeviceToleration[],
): boolean =>
  tolerations.some(
    (one) =>
      (!one.effect || one.effect === effect) &&
      (!one.key || one.key === key) &&
      (one.operator === "Exists" || (one.value ?? "") === value),
  );

/** The devices of each claim, or undefined if there is no way. Throws AllocationError and SelectionError. */
export function searchDevices(options: SearchOptions): readonly (readonly DeviceAssignment[])[] | undefined {
  return new DeviceSearch(options).run();
}

class DeviceSearch {
  readonly #options: SearchOptions;
  readonly #ways: readonly (readonly (readonly RequestChoice[])[])[];
  readonly #constraints: readonly (readonly ConstraintState[])[];
  readonly #given: DeviceAssignment[][];
  /** Devices that are given out, and how often. */
  readonly #out = new Map<string, number>();
  readonly #shared = new Map<string, Map<string, Quantity>>();
  /** What is drawn from counters, by pool. */
  readonly #drawn = new Map<DevicePool, Map<string, Quantity>>();
  readonly #poolOf = new Map<PoolDevice, DevicePool>();
  #tries = 0;

  constructor(options: SearchOptions) {
    this.#options = options;
    for (const pool of options.pools) for (const device of pool.devices) this.#poolOf.set(device, pool);
    this.#ways = options.claims.map((claim) => this.#waysOf(claim));
    this.#constraints = options.claims.map(({ spec }) => constraintsOf(spec.devices.constraints ?? []));
    this.#given = options.claims.map(() => []);
  }

  run(): readonly (readonly DeviceAssignment[])[] | undefined {
    return this.#request(0, 0) ? this.#given : undefined;
  }

  #waysOf(claim: ResourceClaim): readonly (readonly RequestChoice[])[] {
    const ways = claim.spec.devices.requests.map(({ name, exactly, firstAvailable = [] }) =>
      exactly
        ? [this.#choice(claim, name, exactly, exactly.adminAccess ?? false)]
        : firstAvailable.map((one) => this.#choice(claim, `${name}/${one.name}`, one, false)),
    );
    const least = ways.reduce((sum, choices) => sum + Math.min(...choices.map(({ count = 0 }) => count)), 0);
    if (least > mostResults)
      throw new AllocationError(
        `claim ${nameOf(claim)}: number of requested devices ${least} exceeds the claim limit of ${mostResults}`,
      );
    return ways;
  }

  #choice(claim: ResourceClaim, name: string, asked: RequestChoice["asked"], isAdmin: boolean): RequestChoice {
    const deviceClass = this.#options.classOf(asked.deviceClassName);
    if (!deviceClass)
      throw new AllocationError(`request ${name}: device class ${asked.deviceClassName} does not exist`);
    const isAll = asked.allocationMode === "All";
    const flawed = this.#options.pools.find(({ flaw }) => flaw);
    if (isAll && flawed)
      throw new AllocationError(
        `claim ${nameOf(claim)}, request ${name}: asks for all devices, but resource pool ${flawed.driver}/${flawed.name} is currently ${flawed.flaw === "invalid" ? "invalid" : "being updated"}`,
      );
    const expressions = [...(deviceClass.spec.selectors ?? []), ...(asked.selectors ?? [])].flatMap(
      ({ cel }) => cel ?? [],
    );
    const candidates = this.#options.pools.flatMap(({ devices }) =>
      devices.filter(({ driver, device }) =>
        expressions.every(({ expression }) => selects(expression, driver, device)),
      ),
    );
    const count = isAll ? candidates.length || undefined : (asked.count ?? 1);
    return { name, asked, isAdmin, deviceClass, candidates, count };
  }

  /** Satisfies the request and all that come after it. */
  #request(claim: number, request: number): boolean {
    const ways = this.#ways[claim];
    if (!ways) return true;
    const choices = ways[request];
    if (!choices) return this.#request(claim + 1, 0);
    return choices.some(
      (choice) => choice.count !== undefined && this.#devices(claim, request, choice, 0, choice.count),
    );
  }

  /** Finds `left` more devices for the request, none before `from`: their order does not matter. */
  #devices(claim: number, request: number, choice: RequestChoice, from: number, left: number): boolean {
    if (left === 0) return this.#request(claim, request + 1);
    const { candidates, asked } = choice;
    if ((this.#given[claim]?.length ?? 0) >= mostResults) return false;
    for (let at = from; at < candidates.length; at++) {
      const device = candidates[at] as PoolDevice;
      if (++this.#tries > mostTries) throw new AllocationError("timed out trying to allocate devices");
      const undo = this.#give(claim, choice, device);
      if (undo) {
        const next = device.device.allowMultipleAllocations && asked.allocationMode !== "All" ? at : at + 1;
        if (this.#devices(claim, request, choice, next, left - 1)) return true;
        undo();
      }
      if (asked.allocationMode === "All") return false; // this one had to be among them
    }
    return false;
  }

  /** Gives the device if nothing is against it. Returns how to take it back. */
  #give(claim: number, choice: RequestChoice, from: PoolDevice): (() => void) | undefined {
    const { isAdmin, asked } = choice;
    const { device, id } = from;
    const isShared = device.allowMultipleAllocations === true;
    const given = this.#given[claim] as DeviceAssignment[];
    if (
      isAdmin
        ? given.some((one) => one.from.id === id)
        : !isShared && (this.#options.use.isTaken(id) || this.#out.has(id))
    )
      return undefined;
    const tolerations = asked.tolerations ?? [];
    if (device.taints?.some((taint) => taint.effect !== "None" && !isTolerated(taint, tolerations))) return undefined;
    const amounts = isShared || asked.capacity?.requests ? consumption(device, asked.capacity?.requests) : undefined;
    if ((isShared || asked.capacity?.requests) && !amounts) return undefined;
    if (amounts && !isAdmin && !hasLeft(device, this.#takenOf(id, isShared), amounts)) return undefined;
    if (!isAdmin && !this.#hasCounters(from)) return undefined;
    const constraints = (this.#constraints[claim] ?? []).filter((one) => one.concerns(choice.name));
    const met: ConstraintState[] = [];
    for (const constraint of constraints) {
      if (!constraint.add(from)) {
        for (const one of met) one.remove(from);
        return undefined;
      }
      met.push(constraint);
    }
    given.push({ choice, from, amounts: isShared ? amounts : undefined });
    if (!isAdmin) this.#count(from, isShared ? amounts : undefined, 1);
    return () => {
      given.pop();
      for (const one of met) one.remove(from);
      if (!isAdmin) this.#count(from, isShared ? amounts : undefined, -1);
    };
  }

  #takenOf(id: string, isShared: boolean): Amounts {
    const sum = new Map(isShared ? this.#options.use.taken(id) : []);
    addAmounts(sum, this.#shared.get(id) ?? []);
    return sum;
  }

  #count(from: PoolDevice, amounts: Amounts | undefined, times: 1 | -1): void {
    const out = (this.#out.get(from.id) ?? 0) + times;
    if (out > 0) this.#out.set(from.id, out);
    else this.#out.delete(from.id);
    if (amounts) {
      const shared = this.#shared.get(from.id) ?? new Map<string, Quantity>();
      this.#shared.set(from.id, shared);
      addAmounts(shared, amounts, times);
    }
    // A device that is shared draws from the counters once, however many have it.
    const pool = this.#poolOf.get(from);
    if (pool && (times === 1 ? out === 1 : out === 0)) addAmounts(this.#drawnFrom(pool), draws(from), times);
  }

  /** Whether the counters of the pool have enough left for the device. */
  #hasCounters(from: PoolDevice): boolean {
    const pool = this.#poolOf.get(from);
    if (!from.device.consumesCounters?.length || !pool) return true;
    if (this.#out.has(from.id) || this.#options.use.isTaken(from.id)) return true; // it has drawn already
    const drawn = this.#drawnFrom(pool);
    return draws(from).every(([name, amount]) => {
      const total = new Map([["all", drawn.get(name) ?? zeroQuantity]]);
      addAmounts(total, [["all", amount]]);
      return isAtMost(total.get("all"), pool.counters.get(name));
    });
  }

  #drawnFrom(pool: DevicePool): Map<string, Quantity> {
    const known = this.#drawn.get(pool);
    if (known) return known;
    const drawn = new Map<string, Quantity>();
    for (const device of pool.drawing) if (this.#options.use.isTaken(device.id)) addAmounts(drawn, draws(device));
    this.#drawn.set(pool, drawn);
    return drawn;
  }
}

const draws = ({ device }: PoolDevice): readonly (readonly [string, Quantity])[] =>
  (device.consumesCounters ?? []).flatMap(({ counterSet, counters }) =>
    Object.entries(counters).map(([name, { value }]) => [`${counterSet}/${name}`, parseQuantity(value)] as const),
  );

function isAtMost(a: Quantity = zeroQuantity, b: Quantity = zeroQuantity): boolean {
  const scale = Math.min(a.scale, b.scale);
  const at = ({ unscaled, scale: own }: Quantity) => unscaled * 10n ** BigInt(own - scale);
  return at(a) <= at(b);
}

const nameOf = ({ metadata }: ResourceClaim): string => `${metadata.namespace}/${metadata.name}`;

/** How a device that was given stands in the claim's status. */
export const resultOf = (
  { choice, from, amounts }: DeviceAssignment,
  shareId: () => string,
): DeviceRequestAllocationResult => {
  const { bindingConditions, bindingFailureConditions, name } = from.device;
  const { tolerations } = choice.asked;
  return {
    request: choice.name,
    driver: from.driver,
    pool: from.pool,
    device: name,
    ...(choice.isAdmin && { adminAccess: true }),
    ...(tolerations && { tolerations }),
    ...(bindingConditions && { bindingConditions }),
    ...(bindingFailureConditions && { bindingFailureConditions }),
    ...(amounts && { shareID: shareId(), consumedCapacity: written(amounts) }),
  };
};
