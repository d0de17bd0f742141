import { type Infer, inline, list, ref, resource, string, struct } from "#schema/index.ts";
import { DeviceConfiguration, DeviceSelector } from "./device-request.ts";

export const DeviceClassConfiguration = struct("resource/v1.DeviceClassConfiguration", {
  ...inline(1, DeviceConfiguration),
});
export interface DeviceClassConfiguration extends Infer<typeof DeviceClassConfiguration> {}

export const DeviceClassSpec = struct("resource/v1.DeviceClassSpec", {
  selectors: list(1, DeviceSelector),
  config: list(2, DeviceClassConfiguration),
  extendedResourceName: string(4).pointer(),
});
export interface DeviceClassSpec extends Infer<typeof DeviceClassSpec> {}

export const DeviceClass = resource({
  group: "resource.k8s.io",
  version: "v1",
  kind: "DeviceClass",
  plural: "deviceclasses",
  returnsDeleted: true,
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, DeviceClassSpec).required(),
  },
});
export interface DeviceClass extends Infer<typeof DeviceClass> {}
