import { ageColumn, nameColumn } from "#schema/columns.ts";
import {
  bool,
  type Infer,
  int64,
  list,
  map,
  type Problem,
  quantity,
  ref,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { NodeSelector } from "../../core/v1/affinity.ts";
import { driverName, mostDriverNameBytes } from "../../storage/v1/checks.ts";
import { checkSlice } from "./slice-checks.ts";

export const CapacityRequestPolicyRange = struct("resource/v1.CapacityRequestPolicyRange", {
  min: quantity(1, "The least that can be asked for.")
    .nonEmpty("required when validRange is defined")
    .pointer()
    .required()
    .omitEmpty(),
  max: quantity(2, "The most that can be asked for.").pointer(),
  step: quantity(3, "What amounts beyond the least are multiples of.").pointer(),
});
export interface CapacityRequestPolicyRange extends Infer<typeof CapacityRequestPolicyRange> {}

export const CapacityRequestPolicy = struct("resource/v1.CapacityRequestPolicy", {
  default: quantity(1, "What a request gets that does not say how much.").nullable(),
  validValues: list(3, "quantity", "The amounts that can be asked for, in ascending order."),
  validRange: ref(4, CapacityRequestPolicyRange, "The range of amounts that can be asked for."),
});
export interface CapacityRequestPolicy extends Infer<typeof CapacityRequestPolicy> {}

export const Counter = struct("resource/v1.Counter", {
  value: quantity(1, "How much there is.").required(),
});
export interface Counter extends Infer<typeof Counter> {}

export const CounterSet = struct("resource/v1.CounterSet", {
  name: string(1, "Name of the set.").required(),
  counters: map(2, Counter, "What devices of the pool share, by name.").required().omitEmpty(),
});
export interface CounterSet extends Infer<typeof CounterSet> {}

export const DeviceAttribute = struct("resource/v1.DeviceAttribute", {
  int: int64(2, "A number.").pointer(),
  bool: bool(3, "True or false.").pointer(),
  string: string(4, "Text.").pointer(),
  version: string(5, "A semantic version.").pointer(),
  ints: list(6, "int64", "Numbers.").off("DRAListTypeAttributes"),
  bools: list(7, "bool", "Values of true and false.").off("DRAListTypeAttributes"),
  strings: list(8, "string", "Texts.").off("DRAListTypeAttributes"),
  versions: list(9, "string", "Semantic versions.").off("DRAListTypeAttributes"),
});
export interface DeviceAttribute extends Infer<typeof DeviceAttribute> {}

export const DeviceCapacity = struct("resource/v1.DeviceCapacity", {
  value: quantity(1, "How much there is.").required(),
  requestPolicy: ref(2, CapacityRequestPolicy, "How much can be asked for, where the device is shared."),
});
export interface DeviceCapacity extends Infer<typeof DeviceCapacity> {}

export const DeviceCounterConsumption = struct("resource/v1.DeviceCounterConsumption", {
  counterSet: string(1, "The set that is drawn from.").required(),
  counters: map(2, Counter, "How much is drawn from each counter.").required().omitEmpty(),
});
export interface DeviceCounterConsumption extends Infer<typeof DeviceCounterConsumption> {}

export const DeviceTaint = struct("resource/v1.DeviceTaint", {
  key: string(1, "Name of the taint.").required(),
  value: string(2, "Its value."),
  effect: string(3, "What it does to pods that do not tolerate it.")
    .oneOf("NoExecute", "NoSchedule", "None")
    .required(),
  timeAdded: time(4, "When it was added.").pointer(),
});
export interface DeviceTaint extends Infer<typeof DeviceTaint> {}

export const NodeAllocatableResourceMapping = struct("resource/v1.NodeAllocatableResourceMapping", {
  capacityKey: string(1, "The capacity of the device that counts.").pointer(),
  allocationMultiplier: quantity(2, "What it is multiplied by.").pointer().default("1"),
});
export interface NodeAllocatableResourceMapping extends Infer<typeof NodeAllocatableResourceMapping> {}

export const Device = struct("resource/v1.Device", {
  name: string(1, "Name of the device in its pool.").required(),
  attributes: map(2, DeviceAttribute, "What the device is like, by name."),
  capacity: map(3, DeviceCapacity, "How much of what it has, by name."),
  consumesCounters: list(4, DeviceCounterConsumption, "What it takes from counters shared with other devices."),
  nodeName: string(5, "The node that has it.").pointer(),
  nodeSelector: ref(6, NodeSelector, "Nodes that reach it."),
  allNodes: bool(7, "Whether all nodes reach it.").pointer(),
  taints: list(8, DeviceTaint, "Keeps away those who do not tolerate them."),
  bindsToNode: bool(9, "Whether the pod that gets it must run on the chosen node.").pointer(),
  bindingConditions: list(10, "string", "Conditions to wait for before the pod is bound."),
  bindingFailureConditions: list(11, "string", "Conditions that end the wait without success."),
  allowMultipleAllocations: bool(12, "Whether several claims can share it.").pointer(),
  nodeAllocatableResourceMappings: map(
    13,
    NodeAllocatableResourceMapping,
    "What it takes of the node's own resources.",
  ).off("DRANodeAllocatableResources"),
});
export interface Device extends Infer<typeof Device> {}

export const ResourcePool = struct("resource/v1.ResourcePool", {
  name: string(1, "Name of the pool, often that of its node.").required(),
  generation: int64(2, "Counts the changes of the pool; slices of older ones are out of date.").required(),
  resourceSliceCount: int64(3, "How many slices of this generation there are.").required(),
});
export interface ResourcePool extends Infer<typeof ResourcePool> {}

export const ResourceSliceSpec = struct(
  "resource/v1.ResourceSliceSpec",
  {
    driver: string(1, "The driver that offers the devices; cannot change.")
      .nonEmpty()
      .maxLength(mostDriverNameBytes)
      .is(driverName)
      .required(),
    pool: ref(2, ResourcePool, "The pool that the slice is a part of.").required(),
    nodeName: string(3, "The node that has the devices; cannot change.").pointer(),
    nodeSelector: ref(4, NodeSelector, "Nodes that reach the devices."),
    allNodes: bool(5, "Whether all nodes reach the devices.").pointer(),
    devices: list(6, Device, "The devices."),
    perDeviceNodeSelection: bool(7, "Whether each device says which nodes reach it.").pointer(),
    sharedCounters: list(8, CounterSet, "What devices of the pool share."),
  },
  {
    *check(spec, old): Iterable<Problem> {
      yield* checkSlice(spec, old);
    },
  },
);
export interface ResourceSliceSpec extends Infer<typeof ResourceSliceSpec> {}

export const ResourceSlice = resource({
  group: "resource.k8s.io",
  version: "v1",
  kind: "ResourceSlice",
  plural: "resourceslices",
  returnsDeleted: true,
  scope: "Cluster",
  doc: "A part of the devices that a driver offers.",
  fields: {
    spec: ref(2, ResourceSliceSpec, "What is offered.").required(),
  },
  selectableFields: { "spec.nodeName": ({ spec }) => spec.nodeName ?? "", "spec.driver": ({ spec }) => spec.driver },
  columns: [
    nameColumn,
    { name: "Node", doc: "The node that has the devices.", cell: ({ spec }) => spec.nodeName },
    { name: "Driver", doc: "The driver that offers them.", cell: ({ spec }) => spec.driver },
    { name: "Pool", doc: "The pool that the slice is a part of.", cell: ({ spec }) => spec.pool.name },
    ageColumn,
  ],
});
export interface ResourceSlice extends Infer<typeof ResourceSlice> {}
