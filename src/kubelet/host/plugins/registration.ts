// What a plugin of the kubelet answers at the socket that it puts into the folder of plugins. Numbers as in upstream's
// pluginregistration/v1/api.proto.
// Upstream: staging/src/k8s.io/kubelet/pkg/apis/pluginregistration/v1/api.proto.
import { bool, message, text, texts } from "#base/host/protobuf.ts";
import type { CriRpc } from "../cri/messages.ts";

const Nothing = message("Nothing", {});
export const PluginInfoMessage = message("PluginInfo", {
  type: text(1),
  name: text(2),
  endpoint: text(3),
  supportedVersions: texts(4),
});
export const RegistrationStatus = message("RegistrationStatus", { pluginRegistered: bool(1), error: text(2) });

const service = "/pluginregistration.Registration";
const getInfo = { path: `${service}/GetInfo`, request: Nothing, response: PluginInfoMessage };
const notify = { path: `${service}/NotifyRegistrationStatus`, request: RegistrationStatus, response: Nothing };

export const registrationRpcs = { getInfo, notify } satisfies Record<string, CriRpc<never, unknown>>;
