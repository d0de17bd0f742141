// The devices that a node reaches, by pool. Slices of older generations do not count, and a pool whose slices are not all there is not used.
// Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go.
import type { NodeSelector } from "#api/core/v1/affinity.ts";
import type { Device, ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { parseQuantity, type Quantity } from "#schema/quantity.ts";
import { nodeSelector, type Selectable } from "../node-selection.ts";

export interface DevicePool {
  readonly driver: string;
  readonly name: string;
  /** Those that the node reaches. */
  readonly devices: readonly PoolDevice[];
  /** All devices of the pool that draw from shared counters, wherever they are. */
  readonly drawing: readonly PoolDevice[];
  /** What the devices share, by `set/counter`. */
  readonly counters: ReadonlyMap<string, Quantity>;
  /** Why devices of the pool cannot be given now. */
  readonly flaw?: "incomplete" | "invalid";
}

export interface PoolDevice {
  readonly id: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
}

/** Where slices come from; both are asked once per pool and node. */
export interface SliceSource {
  /** Slices of the node and those that are not of one node. */
  near(node: string): readonly ResourceSlice[];
  ofPool(key: string): readonly ResourceSlice[];
}

export const poolKey = ({ spec }: ResourceSlice): string => `${spec.driver}/${spec.pool.name}`;
export const deviceId = (driver: string, pool: string, device: string): string => `${driver}/${pool}/${device}`;

export function gatherPools(node: Selectable, source: SliceSource): readonly DevicePool[] {
  const keys = new Set(source.near(node.name ?? "").map(poolKey));
  const pools = [...keys].flatMap((key) => poolOf(source.ofPool(key), node) ?? []);
  const rank = ({ devices }: DevicePool) => (devices.some(({ device }) => device.bindingConditions?.length) ? 1 : 0);
  const byName = (a: DevicePool, b: DevicePool) => (`${a.driver}/${a.name}` < `${b.driver}/${b.name}` ? -1 : 1);
  // A device that is at hand is better than one that must be made ready first.
  return pools.sort((a, b) => rank(a) - rank(b) || byName(a, b));
}

function poolOf(slices: readonly ResourceSlice[], node: Selectable): DevicePool | undefined {
  const newest = slices.reduce((most, { spec }) => Math.max(most, spec.pool.generation), -1);
  const present = slices.filter(({ spec }) => spec.pool.generation === newest);
  const [first] = present;
  if (!first) return undefined;
  const reached = present.flatMap((slice) => devicesOf(slice).filter(({ device }) => isReached(slice, device, node)));
  if (reached.length === 0) return undefined;
  const { driver, pool } = first.spec;
  const common = { driver, name: pool.name, devices: [], drawing: [], counters: new Map<string, Quantity>() };
  if (present.length !== pool.resourceSliceCount) return { ...common, flaw: "incomplete" };
  const all = present.flatMap(devicesOf);
  if (new Set(all.map(({ id }) => id)).size < all.length) return { ...common, flaw: "invalid" };
  const drawing = all.filter(({ device }) => device.consumesCounters?.length);
  return { ...common, devices: reached, drawing, counters: countersOf(present) };
}

const devicesOf = (slice: ResourceSlice): readonly PoolDevice[] =>
  (slice.spec.devices ?? []).map((device) => {
    const { driver, pool } = slice.spec;
    return { id: deviceId(driver, pool.name, device.name), driver, pool: pool.name, device, slice };
  });

function countersOf(slices: readonly ResourceSlice[]): ReadonlyMap<string, Quantity> {
  const counters = new Map<string, Quantity>();
  for (const { spec } of slices)
    for (const { name: set, counters: given } of spec.sharedCounters ?? [])
      for (const [name, { value }] of Object.entries(given)) counters.set(`${set}/${name}`, parseQuantity(value));
  return counters;
}

interface Reach {
  readonly nodeName?: string | undefined;
  readonly allNodes?: boolean | undefined;
  readonly nodeSelector?: NodeSelector | undefined;
}

/** Where a device is: each says so itself, or the slice does for all. */
export const reachOf = ({ spec }: ResourceSlice, device: Device): Reach =>
  spec.perDeviceNodeSelection ? device : spec;

function isReached(slice: ResourceSlice, device: Device, node: Selectable): boolean {
  const { nodeName, allNodes, nodeSelector: selector } = reachOf(slice, device);
  if (nodeName) return nodeName === node.name;
  return allNodes === true || (selector !== undefined && nodeSelector(selector)(node));
}
