// What the kubelet and device plugins say to each other. Numbers as in upstream's deviceplugin/v1beta1/api.proto.
// Upstream: staging/src/k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/api.proto.
import { bool, type DecodedMessage, int, many, message, one, pairs, text, texts } from "#base/host/protobuf.ts";
import type { CriRpc } from "../cri/messages.ts";

const Empty = message("Empty", {});
const Options = message("DevicePluginOptions", { preStartRequired: bool(1), preferredAllocationAvailable: bool(2) });
const RegisterRequest = message("RegisterRequest", {
  version: text(1),
  endpoint: text(2),
  resourceName: text(3),
  options: one(4, Options),
});
const Listed = message("ListAndWatchResponse", {
  devices: many(1, message("Device", { id: text(1), health: text(2) })),
});

const AllocateRequest = message("AllocateRequest", {
  containers: many(1, message("ContainerAllocateRequest", { deviceIds: texts(1) })),
});
const ContainerAllocation = message("ContainerAllocateResponse", {
  envs: pairs(1),
  mounts: many(2, message("Mount", { containerPath: text(1), hostPath: text(2), readOnly: bool(3) })),
  devices: many(3, message("DeviceSpec", { containerPath: text(1), hostPath: text(2), permissions: text(3) })),
  annotations: pairs(4),
  cdiDevices: many(5, message("CDIDevice", { name: text(1) })),
});
export type ContainerAllocation = DecodedMessage<typeof ContainerAllocation>;

/** The size is a plain number, which is 0 if it is not sent. */
const PreferredRequest = message("PreferredAllocationRequest", {
  containers: many(
    1,
    message("ContainerPreferredAllocationRequest", { available: texts(1), mustInclude: texts(2), size: int(3) }),
  ),
});

const plugin = "/v1beta1.DevicePlugin";
const register = { path: "/v1beta1.Registration/Register", request: RegisterRequest, response: Empty };
const options = { path: `${plugin}/GetDevicePluginOptions`, request: Empty, response: Options };
const listAndWatch = { path: `${plugin}/ListAndWatch`, request: Empty, response: Listed };
const preferred = {
  path: `${plugin}/GetPreferredAllocation`,
  request: PreferredRequest,
  response: message("PreferredAllocationResponse", {
    containers: many(1, message("ContainerPreferredAllocationResponse", { deviceIds: texts(1) })),
  }),
};
const allocate = {
  path: `${plugin}/Allocate`,
  request: AllocateRequest,
  response: message("AllocateResponse", { containers: many(1, ContainerAllocation) }),
};
const preStart = {
  path: `${plugin}/PreStartContainer`,
  request: message("PreStartContainerRequest", { deviceIds: texts(1) }),
  response: Empty,
};

export const devicePluginRpcs = { register, options, listAndWatch, preferred, allocate, preStart } satisfies Record<
  string,
  CriRpc<never, unknown>
>;
