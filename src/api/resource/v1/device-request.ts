import { bool, type Infer, inline, int64, list, map, rawExtension, ref, string, struct } from "#schema/index.ts";

export const CELDeviceSelector = struct("resource/v1.CELDeviceSelector", {
  expression: string(1).required(),
});
export interface CELDeviceSelector extends Infer<typeof CELDeviceSelector> {}

export const CapacityRequirements = struct("resource/v1.CapacityRequirements", {
  requests: map(1, "quantity"),
});
export interface CapacityRequirements extends Infer<typeof CapacityRequirements> {}

export const DeviceSelector = struct("resource/v1.DeviceSelector", {
  cel: ref(1, CELDeviceSelector),
});
export interface DeviceSelector extends Infer<typeof DeviceSelector> {}

export const DeviceToleration = struct("resource/v1.DeviceToleration", {
  key: string(1),
  operator: string(2).oneOf("Equal", "Exists").default("Equal"),
  value: string(3),
  effect: string(4).oneOf("NoExecute", "NoSchedule", "None"),
  tolerationSeconds: int64(5).pointer(),
});
export interface DeviceToleration extends Infer<typeof DeviceToleration> {}

export const ExactDeviceRequest = struct("resource/v1.ExactDeviceRequest", {
  deviceClassName: string(1).required(),
  selectors: list(2, DeviceSelector),
  allocationMode: string(3).oneOf("All", "ExactCount").default("ExactCount"),
  count: int64(4),
  adminAccess: bool(5).pointer(),
  tolerations: list(6, DeviceToleration),
  capacity: ref(7, CapacityRequirements),
});
export interface ExactDeviceRequest extends Infer<typeof ExactDeviceRequest> {}

export const DeviceSubRequest = struct("resource/v1.DeviceSubRequest", {
  name: string(1).required(),
  deviceClassName: string(2).required(),
  selectors: list(3, DeviceSelector),
  allocationMode: string(4).oneOf("All", "ExactCount").default("ExactCount"),
  count: int64(5),
  tolerations: list(6, DeviceToleration),
  capacity: ref(7, CapacityRequirements),
});
export interface DeviceSubRequest extends Infer<typeof DeviceSubRequest> {}

export const DeviceRequest = struct("resource/v1.DeviceRequest", {
  name: string(1).required(),
  exactly: ref(2, ExactDeviceRequest),
  firstAvailable: list(3, DeviceSubRequest),
});
export interface DeviceRequest extends Infer<typeof DeviceRequest> {}

export const DeviceConstraint = struct("resource/v1.DeviceConstraint", {
  requests: list(1, "string"),
  matchAttribute: string(2).pointer(),
  distinctAttribute: string(3).pointer(),
});
export interface DeviceConstraint extends Infer<typeof DeviceConstraint> {}

export const OpaqueDeviceConfiguration = struct("resource/v1.OpaqueDeviceConfiguration", {
  driver: string(1).required(),
  parameters: rawExtension(2).required(),
});
export interface OpaqueDeviceConfiguration extends Infer<typeof OpaqueDeviceConfiguration> {}

export const DeviceConfiguration = struct("resource/v1.DeviceConfiguration", {
  opaque: ref(1, OpaqueDeviceConfiguration),
});
export interface DeviceConfiguration extends Infer<typeof DeviceConfiguration> {}

export const DeviceClaimConfiguration = struct("resource/v1.DeviceClaimConfiguration", {
  requests: list(1, "string"),
  ...inline(2, DeviceConfiguration),
});
export interface DeviceClaimConfiguration extends Infer<typeof DeviceClaimConfiguration> {}

export const DeviceClaim = struct("resource/v1.DeviceClaim", {
  requests: list(1, DeviceRequest).always(),
  constraints: list(2, DeviceConstraint),
  config: list(3, DeviceClaimConfiguration),
});
export interface DeviceClaim extends Infer<typeof DeviceClaim> {}
