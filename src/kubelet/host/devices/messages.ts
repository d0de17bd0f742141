// What the kubelet says to drivers of devices. Numbers as in upstream's dra/v1/api.proto.
// Upstream: staging/src/k8s.io/kubelet/pkg/apis/dra/v1/api.proto.
import { int, many, message, one, signed, text, texts } from "#base/host/protobuf.ts";
import type { CriRpc } from "../cri/messages.ts";

const Claim = message("Claim", { namespace: text(1), uid: text(2), name: text(3) });
const Claims = message("Claims", { claims: many(1, Claim) });
const PreparedDevice = message("PreparedDevice", {
  requestNames: texts(1),
  poolName: text(2),
  deviceName: text(3),
  cdiDeviceIds: texts(4),
  shareId: text(5),
});
const Prepared = message("Prepared", { devices: many(1, PreparedDevice), error: text(2) });
const Unprepared = message("Unprepared", { error: text(1) });
/** Maps are lists of entries on the wire. */
const PreparedByUid = message("PreparedByUid", {
  claims: many(1, message("PreparedEntry", { uid: text(1), value: one(2, Prepared) })),
});
const UnpreparedByUid = message("UnpreparedByUid", {
  claims: many(1, message("UnpreparedEntry", { uid: text(1), value: one(2, Unprepared) })),
});

/** The health is 1 for healthy, 2 for unhealthy. */
const DeviceHealth = message("DeviceHealth", {
  device: one(1, message("DeviceIdentifier", { poolName: text(1), deviceName: text(2) })),
  health: int(2),
  lastUpdatedTime: int(3),
  healthCheckTimeoutSeconds: signed(4),
  message: text(5),
});

const service = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin";
const prepare = { path: `${service}/NodePrepareResources`, request: Claims, response: PreparedByUid };
const unprepare = { path: `${service}/NodeUnprepareResources`, request: Claims, response: UnpreparedByUid };

const watchHealth = {
  path: "/v1alpha1.DRAResourceHealth/NodeWatchResources",
  request: message("NodeWatchResourcesRequest", {}),
  response: message("NodeWatchResourcesResponse", { devices: many(1, DeviceHealth) }),
};

export const deviceRpcs = { prepare, unprepare, watchHealth } satisfies Record<string, CriRpc<never, unknown>>;
