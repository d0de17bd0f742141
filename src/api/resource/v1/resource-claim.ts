import {
  bool,
  type Infer,
  inline,
  list,
  map,
  rawExtension,
  ref,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { NodeSelector } from "../../core/v1/affinity.ts";
import { Condition } from "../../meta/condition.ts";
import { DeviceClaim, DeviceConfiguration, DeviceToleration } from "./device-request.ts";

export const NetworkDeviceData = struct("resource/v1.NetworkDeviceData", {
  interfaceName: string(1),
  ips: list(2, "string"),
  hardwareAddress: string(3),
});
export interface NetworkDeviceData extends Infer<typeof NetworkDeviceData> {}

export const AllocatedDeviceStatus = struct("resource/v1.AllocatedDeviceStatus", {
  driver: string(1).required(),
  pool: string(2).required(),
  device: string(3).required(),
  shareID: string(7).pointer(),
  conditions: list(4, Condition).keyedBy("type").patch("replace").always(),
  data: rawExtension(5).pointer(),
  networkData: ref(6, NetworkDeviceData),
});
export interface AllocatedDeviceStatus extends Infer<typeof AllocatedDeviceStatus> {}

export const DeviceRequestAllocationResult = struct("resource/v1.DeviceRequestAllocationResult", {
  request: string(1).required(),
  driver: string(2).required(),
  pool: string(3).required(),
  device: string(4).required(),
  adminAccess: bool(5).pointer(),
  tolerations: list(6, DeviceToleration),
  bindingConditions: list(7, "string"),
  bindingFailureConditions: list(8, "string"),
  shareID: string(9).pointer(),
  consumedCapacity: map(10, "quantity"),
});
export interface DeviceRequestAllocationResult extends Infer<typeof DeviceRequestAllocationResult> {}

export const DeviceAllocationConfiguration = struct("resource/v1.DeviceAllocationConfiguration", {
  source: string(1).oneOf("FromClaim", "FromClass").required(),
  requests: list(2, "string"),
  ...inline(3, DeviceConfiguration),
});
export interface DeviceAllocationConfiguration extends Infer<typeof DeviceAllocationConfiguration> {}

export const DeviceAllocationResult = struct("resource/v1.DeviceAllocationResult", {
  results: list(1, DeviceRequestAllocationResult),
  config: list(2, DeviceAllocationConfiguration),
});
export interface DeviceAllocationResult extends Infer<typeof DeviceAllocationResult> {}

export const AllocationResult = struct("resource/v1.AllocationResult", {
  devices: ref(1, DeviceAllocationResult).default({}),
  nodeSelector: ref(3, NodeSelector),
  allocationTimestamp: time(5).pointer(),
});
export interface AllocationResult extends Infer<typeof AllocationResult> {}

export const ResourceClaimConsumerReference = struct("resource/v1.ResourceClaimConsumerReference", {
  apiGroup: string(1),
  resource: string(3).required(),
  name: string(4).required(),
  uid: string(5).required(),
});
export interface ResourceClaimConsumerReference extends Infer<typeof ResourceClaimConsumerReference> {}

export const ResourceClaimSpec = struct("resource/v1.ResourceClaimSpec", {
  devices: ref(1, DeviceClaim).default({}),
});
export interface ResourceClaimSpec extends Infer<typeof ResourceClaimSpec> {}

export const ResourceClaimStatus = struct("resource/v1.ResourceClaimStatus", {
  allocation: ref(1, AllocationResult),
  reservedFor: list(2, ResourceClaimConsumerReference).keyedBy("uid"),
  devices: list(4, AllocatedDeviceStatus).keyedBy("driver", "device", "pool", "shareID").patch("replace"),
});
export interface ResourceClaimStatus extends Infer<typeof ResourceClaimStatus> {}

export const ResourceClaim = resource({
  group: "resource.k8s.io",
  version: "v1",
  kind: "ResourceClaim",
  plural: "resourceclaims",
  returnsDeleted: true,
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, ResourceClaimSpec).required(),
    status: ref(3, ResourceClaimStatus).default({}),
  },
  subresources: { status: true },
});
export interface ResourceClaim extends Infer<typeof ResourceClaim> {}
