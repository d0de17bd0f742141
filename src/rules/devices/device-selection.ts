// Whether a device is what an expression asks for.
// Upstream: staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go.
import { deviceEnvironment, deviceType } from "#api/resource/v1/device-expressions.ts";
import type { Device, DeviceAttribute } from "#api/resource/v1/resource-slice.ts";
import { EvaluationError, type Program } from "#schema/cel/environment.ts";
import { QuantityValue } from "#schema/cel/libraries/quantities.ts";
import { toSemver } from "#schema/cel/libraries/semver.ts";
import { EntryMap, type MapValue } from "#schema/cel/values/map.ts";
import type { CelValue } from "#schema/cel/values/value.ts";
import { parseQuantity } from "#schema/quantity.ts";

/** An expression that fails on a device: the claim cannot be satisfied by looking further. */
export class SelectionError extends Error {
  override readonly name = "SelectionError";
}

const mostPrograms = 1000;
const programs = new Map<string, Program>();

function programOf(expression: string): Program {
  const known = programs.get(expression);
  if (known) return known;
  if (programs.size >= mostPrograms) programs.clear();
  const program = deviceEnvironment().compile(expression);
  programs.set(expression, program);
  return program;
}

/** Throws SelectionError. */
export function selects(expression: string, driver: string, device: Device): boolean {
  try {
    return programOf(expression).evaluate(new Map([["device", deviceValue(driver, device)]])).value === true;
  } catch (error) {
    if (error instanceof EvaluationError) throw new SelectionError(error.message, { cause: error });
    throw error;
  }
}

const values = new WeakMap<Device, CelValue>();

/** A device is looked at again and again, by each claim on each node. */
function deviceValue(driver: string, device: Device): CelValue {
  const known = values.get(device);
  if (known) return known;
  const fields = new Map<CelValue, CelValue>([
    ["driver", driver],
    ["allowMultipleAllocations", device.allowMultipleAllocations ?? false],
    ["attributes", byDomain(driver, device.attributes ?? {}, attributeValue)],
    ["capacity", byDomain(driver, device.capacity ?? {}, ({ value }) => new QuantityValue(parseQuantity(value)))],
  ]);
  const value: MapValue = {
    kind: "map",
    type: deviceType,
    size: fields.size,
    find: (key) => fields.get(key),
    keys: () => fields.keys(),
  };
  values.set(device, value);
  return value;
}

function attributeValue({ int, bool, string, version }: DeviceAttribute): CelValue {
  if (int !== undefined) return int;
  if (bool !== undefined) return bool;
  return version === undefined ? (string ?? "") : toSemver(version);
}

/** Names without a domain are the driver's own. */
export function qualified(name: string, driver: string): readonly [domain: string, name: string] {
  const slash = name.indexOf("/");
  return slash < 0 ? [driver, name] : [name.slice(0, slash), name.slice(slash + 1)];
}

const nothing = new EntryMap();

/** By domain and name. A domain that the device knows nothing of is empty. */
function byDomain<T>(driver: string, values: Readonly<Record<string, T>>, convert: (value: T) => CelValue): MapValue {
  const domains = new Map<CelValue, EntryMap>();
  for (const [name, value] of Object.entries(values)) {
    const [domain, id] = qualified(name, driver);
    const members = domains.get(domain) ?? new EntryMap();
    domains.set(domain, members.insert(id, convert(value), true));
  }
  return {
    kind: "map",
    size: domains.size,
    find: (key) => domains.get(key) ?? nothing,
    keys: () => domains.keys(),
  };
}
