// The rest of the Container Storage Interface: what the test's driver answers besides what a node asks. Numbers as in csi.proto, version 1.
import { bool, int, many, message, one, pairs, signed, text } from "#base/host/protobuf.ts";
import { CapacityRange, VolumeCapability } from "#kubelet/host/csi/messages.ts";

export const Nothing = message("Nothing", {});
export const PluginName = message("GetPluginInfoResponse", { name: text(1), vendorVersion: text(2) });
export const PluginCapabilities = message("GetPluginCapabilitiesResponse", {
  capabilities: many(1, message("PluginCapability", { service: one(1, message("Service", { type: int(1) })) })),
});
export const Readiness = message("ProbeResponse", { ready: one(1, message("BoolValue", { value: bool(1) })) });
export const ControllerCapabilities = message("ControllerGetCapabilitiesResponse", {
  capabilities: many(1, message("ControllerServiceCapability", { rpc: one(1, message("RPC", { type: int(1) })) })),
});
export const CreateRequest = message("CreateVolumeRequest", {
  name: text(1),
  capacityRange: one(2, CapacityRange),
  volumeCapabilities: many(3, VolumeCapability),
  parameters: pairs(4),
});
export const CreateResponse = message("CreateVolumeResponse", {
  volume: one(1, message("Volume", { capacityBytes: signed(1), volumeId: text(2), volumeContext: pairs(3) })),
});
export const DeleteRequest = message("DeleteVolumeRequest", { volumeId: text(1) });
export const AttachRequest = message("ControllerPublishVolumeRequest", {
  volumeId: text(1),
  nodeId: text(2),
  volumeCapability: one(3, VolumeCapability),
  readonly: bool(4),
});
export const AttachResponse = message("ControllerPublishVolumeResponse", { publishContext: pairs(1) });
export const DetachRequest = message("ControllerUnpublishVolumeRequest", { volumeId: text(1), nodeId: text(2) });
export const GrowRequest = message("ControllerExpandVolumeRequest", {
  volumeId: text(1),
  capacityRange: one(2, CapacityRange),
});
export const GrowResponse = message("ControllerExpandVolumeResponse", { capacityBytes: signed(1), needsNode: bool(2) });

const controller = "/csi.v1.Controller";
export const controllerRpcs = {
  create: { path: `${controller}/CreateVolume`, request: CreateRequest, response: CreateResponse },
  delete: { path: `${controller}/DeleteVolume`, request: DeleteRequest, response: Nothing },
  attach: { path: `${controller}/ControllerPublishVolume`, request: AttachRequest, response: AttachResponse },
  detach: { path: `${controller}/ControllerUnpublishVolume`, request: DetachRequest, response: Nothing },
  grow: { path: `${controller}/ControllerExpandVolume`, request: GrowRequest, response: GrowResponse },
  getCapabilities: {
    path: `${controller}/ControllerGetCapabilities`,
    request: Nothing,
    response: ControllerCapabilities,
  },
};
export const identityRpcs = {
  getInfo: { path: "/csi.v1.Identity/GetPluginInfo", request: Nothing, response: PluginName },
  getCapabilities: { path: "/csi.v1.Identity/GetPluginCapabilities", request: Nothing, response: PluginCapabilities },
  probe: { path: "/csi.v1.Identity/Probe", request: Nothing, response: Readiness },
};
