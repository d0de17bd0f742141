import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Label } from "#schema/formats.ts";
import {
  bool,
  type Infer,
  inline,
  invalid,
  list,
  map,
  type Problem,
  rawExtension,
  ref,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { NodeSelector } from "../../core/v1/affinity.ts";
import { internalForm } from "../../internal-form.ts";
import { Condition } from "../../meta/condition.ts";
import { checkRepeatedConditions } from "../../meta/condition-check.ts";
import { unchangedStruct } from "../../rules.ts";
import { driverName, mostDriverNameBytes } from "../../storage/v1/checks.ts";
import {
  checkBindings,
  checkClaimStatus,
  checkPoolName,
  checkRaw,
  checkRequestName,
  checkSet,
  checkUid,
  interfaceAddress,
  most,
  requestNames,
} from "./checks.ts";
import { DeviceClaim, DeviceConfiguration, DeviceToleration } from "./device-request.ts";

export const NetworkDeviceData = struct("resource/v1.NetworkDeviceData", {
  interfaceName: string(1, "Name of the network interface in the pod.").maxLength(256),
  ips: list(2, "string", "Addresses of the interface, with their prefix.").maxItems(16).is(interfaceAddress),
  hardwareAddress: string(3, "Hardware address of the interface.").maxLength(128),
});
export interface NetworkDeviceData extends Infer<typeof NetworkDeviceData> {}

export const AllocatedDeviceStatus = struct(
  "resource/v1.AllocatedDeviceStatus",
  {
    driver: string(1, "The driver of the device.").nonEmpty().maxLength(mostDriverNameBytes).is(driverName).required(),
    pool: string(2, "The pool of the device.").required(),
    device: string(3, "Name of the device in its pool.").required(),
    shareID: string(7, "Tells several shares of one device apart.").pointer(),
    conditions: list(4, Condition, "How the device is doing.").maxItems(8).keyedBy("type").patch("replace").always(),
    data: rawExtension(5, "What else the driver has to say.").pointer(),
    networkData: ref(6, NetworkDeviceData, "What the device is on the network."),
  },
  {
    *check({ pool, device, shareID, data, conditions }): Iterable<Problem> {
      yield* checkPoolName("pool", pool);
      for (const detail of dns1123Label(device)) yield invalid("device", detail);
      yield* checkUid("shareID", shareID);
      yield* checkRepeatedConditions("conditions", conditions);
      if (data !== undefined) yield* checkRaw("data", data, most.parameterBytes);
    },
  },
);
export interface AllocatedDeviceStatus extends Infer<typeof AllocatedDeviceStatus> {}

export const DeviceRequestAllocationResult = struct(
  "resource/v1.DeviceRequestAllocationResult",
  {
    request: string(1, "The request that the device is for, with the alternative taken.").required(),
    driver: string(2, "The driver of the device.").nonEmpty().maxLength(mostDriverNameBytes).is(driverName).required(),
    pool: string(3, "The pool of the device.").required(),
    device: string(4, "Name of the device in its pool.").required(),
    adminAccess: bool(5, "Whether it was taken for looking after it.").pointer(),
    tolerations: list(6, DeviceToleration, "Taints that the request tolerates."),
    bindingConditions: list(7, "string", "Conditions to wait for before the pod is bound."),
    bindingFailureConditions: list(8, "string", "Conditions that end the wait without success."),
    shareID: string(9, "Tells several shares of one device apart.").pointer(),
    consumedCapacity: map(10, "quantity", "How much of each capacity is taken."),
  },
  {
    *check({ pool, device, shareID, ...bindings }) {
      yield* checkPoolName("pool", pool);
      for (const detail of dns1123Label(device)) yield invalid("device", detail);
      yield* checkBindings(bindings);
      yield* checkUid("shareID", shareID);
    },
  },
);
export interface DeviceRequestAllocationResult extends Infer<typeof DeviceRequestAllocationResult> {}

export const DeviceAllocationConfiguration = struct("resource/v1.DeviceAllocationConfiguration", {
  source: string(1, "Where the settings come from: the claim or the class.")
    .nonEmpty()
    .oneOf("FromClaim", "FromClass")
    .required(),
  requests: list(2, "string", "Requests that the settings are for; all if empty."),
  ...inline(3, DeviceConfiguration),
});
export interface DeviceAllocationConfiguration extends Infer<typeof DeviceAllocationConfiguration> {}

export const DeviceAllocationResult = struct("resource/v1.DeviceAllocationResult", {
  results: list(1, DeviceRequestAllocationResult, "The devices.").maxItems(most.results),
  config: list(
    2,
    DeviceAllocationConfiguration,
    "Settings for the devices, of their classes and of the claim.",
  ).maxItems(2 * most.config),
});
export interface DeviceAllocationResult extends Infer<typeof DeviceAllocationResult> {}

export const AllocationResult = struct("resource/v1.AllocationResult", {
  devices: ref(1, DeviceAllocationResult, "The devices that were taken.").default({}),
  nodeSelector: ref(3, NodeSelector, "Nodes that reach all of them."),
  allocationTimestamp: time(5, "When they were taken.").pointer(),
});
export interface AllocationResult extends Infer<typeof AllocationResult> {}

export const ResourceClaimConsumerReference = struct("resource/v1.ResourceClaimConsumerReference", {
  apiGroup: string(1, "Group of the user."),
  resource: string(3, "Resource of the user, usually pods.").nonEmpty().required(),
  name: string(4, "Name of the user.").nonEmpty().required(),
  uid: string(5, "Uid of the user.").nonEmpty().required(),
});
export interface ResourceClaimConsumerReference extends Infer<typeof ResourceClaimConsumerReference> {}

export const ResourceClaimSpec = struct("resource/v1.ResourceClaimSpec", {
  devices: ref(1, DeviceClaim, "The devices asked for.").default({}),
});
export interface ResourceClaimSpec extends Infer<typeof ResourceClaimSpec> {}

export const ResourceClaimStatus = struct("resource/v1.ResourceClaimStatus", {
  allocation: ref(1, AllocationResult, "The devices that were taken."),
  reservedFor: list(2, ResourceClaimConsumerReference, "Who may use them now.").keyedBy("uid"),
  devices: list(4, AllocatedDeviceStatus, "How each device is doing.")
    .keyedBy("driver", "device", "pool", "shareID")
    .patch("replace"),
});
export interface ResourceClaimStatus extends Infer<typeof ResourceClaimStatus> {}

export const ResourceClaim = resource({
  group: "resource.k8s.io",
  version: "v1",
  kind: "ResourceClaim",
  plural: "resourceclaims",
  returnsDeleted: true,
  scope: "Namespaced",
  doc: "Asks for devices, such as GPUs, that pods can then use.",
  fields: {
    spec: ref(2, ResourceClaimSpec, "What is asked for; cannot change.").checkedOnCreate().required(),
    status: ref(3, ResourceClaimStatus, "What was given.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    {
      name: "State",
      doc: "Whether it has devices, and whether they are in use.",
      cell: ({ metadata, status }) => stateWord(metadata.deletionTimestamp !== undefined, status),
    },
    ageColumn,
  ],
  *check({ spec }, old): Iterable<Problem> {
    if (old) yield* unchangedStruct("spec", ResourceClaimSpec, spec, old.spec);
  },
  *checkStatus({ metadata, spec, status }, old): Iterable<Problem> {
    yield* checkClaimStatus(status, old.status, metadata.deletionTimestamp !== undefined, (allocation) =>
      internalForm(AllocationResult, { ...allocation }),
    );
    if (!status.allocation || old.status.allocation) return;
    const known = requestNames(spec.devices);
    const { results = [], config = [] } = status.allocation.devices;
    for (const [i, { request }] of results.entries())
      yield* checkRequestName(`status.allocation.devices.results[${i}].request`, request, known);
    for (const [i, { requests = [] }] of config.entries()) {
      const path = `status.allocation.devices.config[${i}].requests`;
      yield* checkSet(path, requests, most.requests);
      for (const [j, name] of requests.entries()) yield* checkRequestName(`${path}[${j}]`, name, known);
    }
  },
});
export interface ResourceClaim extends Infer<typeof ResourceClaim> {}

function stateWord(isDeleted: boolean, { allocation, reservedFor = [] }: ResourceClaimStatus): string {
  const words = isDeleted ? ["deleted"] : [];
  if (allocation) words.push("allocated", ...(reservedFor.length > 0 ? ["reserved"] : []));
  else if (!isDeleted) words.push("pending");
  return words.join(",");
}
