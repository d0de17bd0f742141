// Rules of the devices that a driver offers.
// Upstream: pkg/apis/resource/validation/validation.go.
import { dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "#schema/formats.ts";
import { forbidden, invalid, type Problem, required, tooLong, tooMany } from "#schema/index.ts";
import { compareQuantity, parseQuantity, quantityValue } from "#schema/quantity.ts";
import { under } from "../../core/v1/checks/problems.ts";
import { unchanged } from "../../rules.ts";
import { checkBindings, checkLabel, checkPoolName, checkQualifiedName, checkSet } from "./checks.ts";
import type {
  CapacityRequestPolicy,
  Counter,
  Device,
  DeviceAttribute,
  DeviceTaint,
  ResourceSliceSpec,
} from "./resource-slice.ts";

const most = {
  devices: 128,
  devicesWithMore: 64,
  counterSets: 8,
  counters: 32,
  counterConsumptions: 2,
  attributesAndCapacities: 32,
  attributeValues: 48,
  valueBytes: 64,
  taints: 16,
  policyValues: 10,
};

export function* checkSlice(spec: ResourceSliceSpec, old: ResourceSliceSpec | undefined): Iterable<Problem> {
  yield* checkPoolName("pool.name", spec.pool.name);
  if (spec.pool.resourceSliceCount <= 0) yield invalid("pool.resourceSliceCount", "must be greater than zero");
  if (spec.pool.generation < 0) yield invalid("pool.generation", "must be greater than or equal to zero");
  if (old) yield* unchanged(spec, old, "pool.name", "driver", "nodeName");
  yield* checkNodes(spec);
  const { devices, sharedCounters } = spec;
  if (devices && sharedCounters) yield invalid("", "only one of `sharedCounters` or `devices` is allowed", "");
  const hasMore = (devices ?? []).some(
    ({ taints = [], consumesCounters = [] }) => taints.length + consumesCounters.length > 0,
  );
  yield* checkSet(
    "devices",
    (devices ?? []).map(({ name }) => name),
    hasMore ? most.devicesWithMore : most.devices,
  );
  for (const [i, device] of (devices ?? []).entries())
    yield* under(`devices[${i}]`, checkDevice(device, spec.perDeviceNodeSelection === true));
  yield* checkSet(
    "sharedCounters",
    (sharedCounters ?? []).map(({ name }) => name),
    most.counterSets,
  );
  for (const [i, { name, counters }] of (sharedCounters ?? []).entries()) {
    if (name === "") yield required(`sharedCounters[${i}].name`);
    else yield* checkLabel(`sharedCounters[${i}].name`, name);
    yield* checkCounters(`sharedCounters[${i}].counters`, counters);
  }
}

/** Which nodes reach the devices: said in one way. */
function* checkNodes(spec: ResourceSliceSpec): Iterable<Problem> {
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = spec;
  if (nodeName === "") yield invalid("nodeName", "must be either unset or set to a non-empty string");
  else if (nodeName !== undefined) for (const detail of dns1123Subdomain(nodeName)) yield invalid("nodeName", detail);
  if (nodeSelector && nodeSelector.nodeSelectorTerms.length !== 1)
    yield invalid("nodeSelector.nodeSelectorTerms", "must have exactly one node selector term");
  for (const [field, value] of Object.entries({ allNodes, perDeviceNodeSelection }))
    if (value === false) yield invalid(field, "must be either unset or set to true");
  const ways = Object.entries({ nodeName, nodeSelector, allNodes, perDeviceNodeSelection })
    .filter(([, value]) => value)
    .map(([field]) => `\`${field}\``);
  const words = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (ways.length === 0) yield required("", words);
  if (ways.length > 1) yield invalid("", `${words}, but multiple fields are set`, `{${ways.join(", ")}}`);
}

function* checkDevice(device: Device, perDevice: boolean): Iterable<Problem> {
  const { attributes = {}, capacity = {}, taints = [], consumesCounters = [] } = device;
  for (const detail of dns1123Label(device.name)) yield invalid("name", detail);
  const total = Object.keys(attributes).length + Object.keys(capacity).length;
  if (total > most.attributesAndCapacities)
    yield invalid(
      "",
      `the total number of attributes and capacities must not exceed ${most.attributesAndCapacities}`,
      total,
    );
  for (const [name, attribute] of Object.entries(attributes)) {
    yield* checkQualifiedName("attributes", name);
    yield* under(`attributes[${name}]`, checkAttribute(attribute));
  }
  for (const [name, { value, requestPolicy }] of Object.entries(capacity)) {
    yield* checkQualifiedName("capacity", name);
    const path = `capacity[${name}].requestPolicy`;
    if (requestPolicy && !device.allowMultipleAllocations)
      yield forbidden(path, "allowMultipleAllocations must be true");
    else if (requestPolicy) yield* under(path, checkPolicy(value, requestPolicy));
  }
  if (taints.length > most.taints) yield tooMany("taints", taints.length, most.taints);
  else for (const [i, taint] of taints.entries()) yield* under(`taints[${i}]`, checkTaint(taint));
  yield* checkSet(
    "consumesCounters",
    consumesCounters.map(({ counterSet }) => counterSet),
    most.counterConsumptions,
  );
  for (const [i, { counterSet, counters }] of consumesCounters.entries()) {
    if (counterSet === "") yield required(`consumesCounters[${i}].counterSet`);
    else yield* checkLabel(`consumesCounters[${i}].counterSet`, counterSet);
    yield* checkCounters(`consumesCounters[${i}].counters`, counters);
  }
  yield* checkDeviceNodes(device, perDevice);
  yield* checkBindings(device);
}

function* checkDeviceNodes({ nodeName, nodeSelector, allNodes }: Device, perDevice: boolean): Iterable<Problem> {
  const given = Object.entries({ nodeName, nodeSelector, allNodes }).filter(([, value]) => value !== undefined);
  if (!perDevice) {
    if (given.length > 0)
      yield invalid(
        "",
        "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
        null,
      );
    return;
  }
  if (nodeName === "") yield invalid("nodeName", "must not be empty");
  if (allNodes === false) yield invalid("allNodes", "must be either unset or set to true");
  const ways = given.filter(([, value]) => value).map(([field]) => `\`${field}\``);
  const words =
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
  if (ways.length === 0) yield required("", words);
  if (ways.length > 1) yield invalid("", words, `{${ways.join(", ")}}`);
}

const number = "(0|[1-9]\\d*)";
const preRelease = "(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)";
const build = "[0-9a-zA-Z-]+";
const semver = new RegExp(
  `^${number}\\.${number}\\.${number}(-${preRelease}(\\.${preRelease})*)?(\\+${build}(\\.${build})*)?$`,
);

function* checkAttribute(attribute: DeviceAttribute): Iterable<Problem> {
  const { string, version } = attribute;
  if (string !== undefined && string.length > most.valueBytes) yield tooLong("string", most.valueBytes);
  if (version !== undefined) {
    if (!semver.test(version)) yield invalid("version", "must be a string compatible with semver.org spec 2.0.0");
    if (version.length > most.valueBytes) yield tooLong("version", most.valueBytes);
  }
  const given = Object.values(attribute).filter((value) => value !== undefined).length;
  if (given === 0) yield invalid("", "exactly one value must be specified", "");
  if (given > 1) yield invalid("", "exactly one value must be specified", attribute);
}

export function* checkTaint({ key, value, effect }: DeviceTaint): Iterable<Problem> {
  for (const detail of qualifiedName(key)) yield invalid("key", detail, key);
  if (value) for (const detail of labelValue(value)) yield invalid("value", detail, value);
  if ((effect as string) === "") yield required("effect");
}

function* checkCounters(path: string, counters: Readonly<Record<string, Counter>> | undefined): Iterable<Problem> {
  const names = Object.keys(counters ?? {});
  if (names.length === 0) yield required(path);
  else if (names.length > most.counters) yield tooMany(path, names.length, most.counters);
  else for (const name of names) yield* checkLabel(path, name);
}

/** The amounts that may be asked for: one of a list, or a range in steps. The default is one of them. */
function* checkPolicy(whole: string, policy: CapacityRequestPolicy): Iterable<Problem> {
  const { default: given, validValues = [], validRange } = policy;
  if (validValues.length > 0 && validRange)
    yield forbidden(
      "",
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
    );
  else if (validValues.length > 0) {
    if (given === undefined) yield required("default", "required when validValues is defined");
    else yield* checkValues(whole, given, validValues);
  } else if (validRange) {
    if (given === undefined) yield required("default", "required when validRange is defined");
    else yield* checkRange(whole, given, validRange);
  }
}

const isMore = (a: string, b: string): boolean => compareQuantity(parseQuantity(a), parseQuantity(b)) > 0;

function* checkValues(whole: string, given: string, values: readonly string[]): Iterable<Problem> {
  for (const [i, value] of values.entries())
    if (i > 0 && isMore(values[i - 1] as string, value))
      yield invalid(`validValues[${i}]`, "values must be sorted in ascending order");
  if (values.length > most.policyValues) yield tooMany("validValues", values.length, most.policyValues);
  for (const [i, value] of values.entries())
    if (isMore(value, whole)) yield invalid(`validValues[${i}]`, `option is larger than capacity value: ${whole}`);
  if (!values.some((value) => !isMore(value, given) && !isMore(given, value)))
    yield invalid("validValues", "default value is not valid according to the requestPolicy", given);
}

function* checkRange(
  whole: string,
  given: string,
  { min, max, step }: NonNullable<CapacityRequestPolicy["validRange"]>,
): Iterable<Problem> {
  if (min === undefined) return; // reported as required already
  if (isMore(min, whole)) yield invalid("validRange.min", `min is larger than capacity value: ${whole}`);
  if (isMore(min, given)) yield invalid("validRange.min", `default is less than min: ${min}`, given);
  if (max !== undefined) {
    if (isMore(min, max)) yield invalid("validRange.max", `min is larger than max: ${max}`, min);
    if (isMore(max, whole)) yield invalid("validRange.max", `max is larger than capacity value: ${whole}`);
    if (isMore(given, max)) yield invalid("validRange.max", `default is more than max: ${max}`, given);
  }
  if (step === undefined) return;
  const [least, stride] = [quantityValue(parseQuantity(min)), quantityValue(parseQuantity(step))];
  for (const value of max === undefined ? [given] : [given, max])
    if (stride === 0n || (quantityValue(parseQuantity(value)) - least) % stride !== 0n)
      yield invalid("validRange.step", `value is not a multiple of a given step (${step}) from (${min})`, value);
}
