// The part of the Container Storage Interface that a node uses. Numbers as in csi.proto of the specification's version 1.
import { bool, type DecodedMessage, int, many, message, one, pairs, signed, text, texts } from "#base/host/protobuf.ts";

const Nothing = message("Nothing", {});

export const VolumeCapability = message("VolumeCapability", {
  block: one(1, message("BlockVolume", {})),
  mount: one(2, message("MountVolume", { fsType: text(1), mountFlags: texts(2), volumeMountGroup: text(3) })),
  accessMode: one(3, message("AccessMode", { mode: int(1) })),
});
export const CapacityRange = message("CapacityRange", { requiredBytes: int(1), limitBytes: int(2) });
export const NodeInfo = message("NodeGetInfoResponse", {
  nodeId: text(1),
  maxVolumesPerNode: signed(2),
  accessibleTopology: one(3, message("Topology", { segments: pairs(1) })),
});
export type NodeInfo = DecodedMessage<typeof NodeInfo>;
export const NodeCapabilities = message("NodeGetCapabilitiesResponse", {
  capabilities: many(1, message("NodeServiceCapability", { rpc: one(1, message("RPC", { type: int(1) })) })),
});
export const StageRequest = message("NodeStageVolumeRequest", {
  volumeId: text(1),
  publishContext: pairs(2),
  stagingTargetPath: text(3),
  volumeCapability: one(4, VolumeCapability),
  secrets: pairs(5),
  volumeContext: pairs(6),
});
export const UnstageRequest = message("NodeUnstageVolumeRequest", { volumeId: text(1), stagingTargetPath: text(2) });
export const PublishRequest = message("NodePublishVolumeRequest", {
  volumeId: text(1),
  publishContext: pairs(2),
  stagingTargetPath: text(3),
  targetPath: text(4),
  volumeCapability: one(5, VolumeCapability),
  readonly: bool(6),
  secrets: pairs(7),
  volumeContext: pairs(8),
});
export const UnpublishRequest = message("NodeUnpublishVolumeRequest", { volumeId: text(1), targetPath: text(2) });
export const StatsRequest = message("NodeGetVolumeStatsRequest", {
  volumeId: text(1),
  volumePath: text(2),
  stagingTargetPath: text(3),
});
export const StatsResponse = message("NodeGetVolumeStatsResponse", {
  usage: many(1, message("VolumeUsage", { available: signed(1), total: signed(2), used: signed(3), unit: int(4) })),
});
export type VolumeUsage = DecodedMessage<typeof StatsResponse>["usage"][number];
export const ExpandRequest = message("NodeExpandVolumeRequest", {
  volumeId: text(1),
  volumePath: text(2),
  capacityRange: one(3, CapacityRange),
  stagingTargetPath: text(4),
  volumeCapability: one(5, VolumeCapability),
  secrets: pairs(6),
});
export const ExpandResponse = message("NodeExpandVolumeResponse", { capacityBytes: signed(1) });

/** A remote procedure of the node's service, as clients and servers of it want it. */
const node = <Q, A>(method: string, request: Q, response: A) => ({ path: `/csi.v1.Node/${method}`, request, response });

export const nodeRpcs = {
  getInfo: node("NodeGetInfo", Nothing, NodeInfo),
  getCapabilities: node("NodeGetCapabilities", Nothing, NodeCapabilities),
  stage: node("NodeStageVolume", StageRequest, Nothing),
  unstage: node("NodeUnstageVolume", UnstageRequest, Nothing),
  publish: node("NodePublishVolume", PublishRequest, Nothing),
  unpublish: node("NodeUnpublishVolume", UnpublishRequest, Nothing),
  stats: node("NodeGetVolumeStats", StatsRequest, StatsResponse),
  expand: node("NodeExpandVolume", ExpandRequest, ExpandResponse),
};

/** NodeServiceCapability.RPC.Type. */
export const nodeCapability = {
  stageUnstage: 1,
  volumeStats: 2,
  expand: 3,
  singleNodeMultiWriter: 5,
  volumeMountGroup: 6,
} as const;
export type NodeCapability = keyof typeof nodeCapability;

/** VolumeUsage.Unit. */
export const usageUnit = { bytes: 1, inodes: 2 } as const;
