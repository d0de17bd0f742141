// How much of a device that several claims can share a request takes.
// Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go.
import type { CapacityRequestPolicy, Device, DeviceCapacity } from "#api/resource/v1/resource-slice.ts";
import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  quantityValue,
  zeroQuantity,
} from "#schema/quantity.ts";

export type Amounts = ReadonlyMap<string, Quantity>;

/** What a request takes of each capacity; undefined if the device cannot give that, whatever others have taken. */
export function consumption(device: Device, wanted: Readonly<Record<string, string>> = {}): Amounts | undefined {
  const capacities = device.capacity ?? {};
  if (Object.keys(wanted).some((name) => !Object.hasOwn(capacities, name))) return undefined;
  const amounts = new Map<string, Quantity>();
  for (const [name, capacity] of Object.entries(capacities)) {
    const text = wanted[name];
    const amount = text === undefined ? unasked(capacity) : raised(parseQuantity(text), capacity.requestPolicy);
    if (isAgainst(amount, capacity.requestPolicy)) return undefined;
    amounts.set(name, amount);
  }
  return amounts;
}

/** Whether the device has as much left besides what others have taken. */
export function hasLeft(device: Device, taken: Amounts, amounts: Amounts): boolean {
  for (const [name, amount] of amounts) {
    const total = addQuantity(taken.get(name) ?? zeroQuantity, amount);
    if (compareQuantity(total, parseQuantity(device.capacity?.[name]?.value ?? "0")) > 0) return false;
  }
  return true;
}

export function addAmounts(
  sum: Map<string, Quantity>,
  more: Iterable<readonly [string, Quantity]>,
  times: 1 | -1 = 1,
): void {
  for (const [name, amount] of more) {
    const signed = times === 1 ? amount : { ...amount, unscaled: -amount.unscaled };
    sum.set(name, addQuantity(sum.get(name) ?? zeroQuantity, signed));
  }
}

export const written = (amounts: Amounts): Readonly<Record<string, string>> =>
  Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));

const unasked = ({ value, requestPolicy }: DeviceCapacity): Quantity => parseQuantity(requestPolicy?.default ?? value);

function raised(wanted: Quantity, policy: CapacityRequestPolicy | undefined): Quantity {
  const { validRange, validValues } = policy ?? {};
  if (validRange?.min) {
    const least = parseQuantity(validRange.min);
    if (compareQuantity(wanted, least) < 0) return least;
    if (validRange.step === undefined) return wanted;
    const [from, step] = [quantityValue(least), quantityValue(parseQuantity(validRange.step))];
    const above = quantityValue(wanted) - from;
    return quantityOf(from + step * ((above + step - 1n) / step), "BinarySI");
  }
  return validValues?.map(parseQuantity).find((value) => compareQuantity(wanted, value) <= 0) ?? wanted;
}

function isAgainst(amount: Quantity, policy: CapacityRequestPolicy | undefined): boolean {
  if (!policy) return false;
  const { default: usual, validRange, validValues = [] } = policy;
  if (usual !== undefined && compareQuantity(amount, parseQuantity(usual)) === 0) return false;
  if (validRange) return validRange.max !== undefined && compareQuantity(amount, parseQuantity(validRange.max)) > 0;
  return validValues.length > 0 && !validValues.some((value) => compareQuantity(amount, parseQuantity(value)) === 0);
}
