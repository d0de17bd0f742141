import { bool, type Infer, int64, list, map, quantity, ref, resource, string, struct, time } from "#schema/index.ts";
import { NodeSelector } from "../../core/v1/affinity.ts";

export const CapacityRequestPolicyRange = struct("resource/v1.CapacityRequestPolicyRange", {
  min: quantity(1).pointer().required().omitEmpty(),
  max: quantity(2).pointer(),
  step: quantity(3).pointer(),
});
export interface CapacityRequestPolicyRange extends Infer<typeof CapacityRequestPolicyRange> {}

export const CapacityRequestPolicy = struct("resource/v1.CapacityRequestPolicy", {
  default: quantity(1).pointer(),
  validValues: list(3, "quantity"),
  validRange: ref(4, CapacityRequestPolicyRange),
});
export interface CapacityRequestPolicy extends Infer<typeof CapacityRequestPolicy> {}

export const Counter = struct("resource/v1.Counter", {
  value: quantity(1).required(),
});
export interface Counter extends Infer<typeof Counter> {}

export const CounterSet = struct("resource/v1.CounterSet", {
  name: string(1).required(),
  counters: map(2, Counter).required().omitEmpty(),
});
export interface CounterSet extends Infer<typeof CounterSet> {}

export const DeviceAttribute = struct("resource/v1.DeviceAttribute", {
  int: int64(2).pointer(),
  bool: bool(3).pointer(),
  string: string(4).pointer(),
  version: string(5).pointer(),
  ints: list(6, "int64").off("DRAListTypeAttributes"),
  bools: list(7, "bool").off("DRAListTypeAttributes"),
  strings: list(8, "string").off("DRAListTypeAttributes"),
  versions: list(9, "string").off("DRAListTypeAttributes"),
});
export interface DeviceAttribute extends Infer<typeof DeviceAttribute> {}

export const DeviceCapacity = struct("resource/v1.DeviceCapacity", {
  value: quantity(1).required(),
  requestPolicy: ref(2, CapacityRequestPolicy),
});
export interface DeviceCapacity extends Infer<typeof DeviceCapacity> {}

export const DeviceCounterConsumption = struct("resource/v1.DeviceCounterConsumption", {
  counterSet: string(1).required(),
  counters: map(2, Counter).required().omitEmpty(),
});
export interface DeviceCounterConsumption extends Infer<typeof DeviceCounterConsumption> {}

export const DeviceTaint = struct("resource/v1.DeviceTaint", {
  key: string(1).required(),
  value: string(2),
  effect: string(3).oneOf("NoExecute", "NoSchedule", "None").required(),
  timeAdded: time(4).pointer(),
});
export interface DeviceTaint extends Infer<typeof DeviceTaint> {}

export const NodeAllocatableResourceMapping = struct("resource/v1.NodeAllocatableResourceMapping", {
  capacityKey: string(1).pointer(),
  allocationMultiplier: quantity(2).pointer().default("1"),
});
export interface NodeAllocatableResourceMapping extends Infer<typeof NodeAllocatableResourceMapping> {}

export const Device = struct("resource/v1.Device", {
  name: string(1).required(),
  attributes: map(2, DeviceAttribute),
  capacity: map(3, DeviceCapacity),
  consumesCounters: list(4, DeviceCounterConsumption),
  nodeName: string(5).pointer(),
  nodeSelector: ref(6, NodeSelector),
  allNodes: bool(7).pointer(),
  taints: list(8, DeviceTaint),
  bindsToNode: bool(9).pointer(),
  bindingConditions: list(10, "string"),
  bindingFailureConditions: list(11, "string"),
  allowMultipleAllocations: bool(12).pointer(),
  nodeAllocatableResourceMappings: map(13, NodeAllocatableResourceMapping).off("DRANodeAllocatableResources"),
});
export interface Device extends Infer<typeof Device> {}

export const ResourcePool = struct("resource/v1.ResourcePool", {
  name: string(1).required(),
  generation: int64(2).required(),
  resourceSliceCount: int64(3).required(),
});
export interface ResourcePool extends Infer<typeof ResourcePool> {}

export const ResourceSliceSpec = struct("resource/v1.ResourceSliceSpec", {
  driver: string(1).required(),
  pool: ref(2, ResourcePool).required(),
  nodeName: string(3).pointer(),
  nodeSelector: ref(4, NodeSelector),
  allNodes: bool(5).pointer(),
  devices: list(6, Device),
  perDeviceNodeSelection: bool(7).pointer(),
  sharedCounters: list(8, CounterSet),
});
export interface ResourceSliceSpec extends Infer<typeof ResourceSliceSpec> {}

export const ResourceSlice = resource({
  group: "resource.k8s.io",
  version: "v1",
  kind: "ResourceSlice",
  plural: "resourceslices",
  returnsDeleted: true,
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, ResourceSliceSpec).required(),
  },
});
export interface ResourceSlice extends Infer<typeof ResourceSlice> {}
