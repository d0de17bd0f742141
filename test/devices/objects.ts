// Devices, classes, templates and pods for tests.
import type { Pod } from "#api/core/v1/pod.ts";
import { DeviceClass } from "#api/resource/v1/device-class.ts";
import type { ExactDeviceRequest } from "#api/resource/v1/device-request.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/resource/v1/resource-claim-template.ts";
import { type Device, ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import type { Client } from "#client/client.ts";
import type { Draft } from "#schema/infer.ts";

export const driver = "gpu.example.com";
export const namespace = "default";

export const haveClass = (client: Client, name = "gpu", expression = `device.driver == "${driver}"`) =>
  client.create(DeviceClass, {
    metadata: { name },
    spec: { selectors: [{ cel: { expression } }], extendedResourceName: `example.com/${name}` },
  });

/** A node's pool of devices, in one slice. */
export const haveSlice = (client: Client, nodeName: string, devices: readonly Draft<Device>[], generation = 1) =>
  client.create(ResourceSlice, {
    metadata: { name: `${nodeName}-${generation}` },
    spec: {
      driver,
      nodeName,
      pool: { name: nodeName, generation, resourceSliceCount: 1 },
      devices: [...devices],
    },
  });

export const plainDevices = (count: number): readonly Draft<Device>[] =>
  Array.from({ length: count }, (_, i) => ({ name: `gpu-${i}`, attributes: { index: { int: i } } }));

const asked = (exactly: Draft<ExactDeviceRequest>) => ({
  devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", ...exactly } }] },
});

export const haveTemplate = (client: Client, name: string, exactly: Draft<ExactDeviceRequest> = {}) =>
  client.create(ResourceClaimTemplate, { metadata: { name, namespace }, spec: { spec: asked(exactly) } });

export const haveClaim = (client: Client, name: string, exactly: Draft<ExactDeviceRequest> = {}) =>
  client.create(ResourceClaim, { metadata: { name, namespace }, spec: asked(exactly) });

/** A pod with a claim made of a template, or with one that is there. */
export const wanting = (claim: { readonly template?: string; readonly claim?: string }): Draft<Pod> => ({
  spec: {
    terminationGracePeriodSeconds: 0,
    resourceClaims: [
      {
        name: "gpu",
        ...(claim.template !== undefined && { resourceClaimTemplateName: claim.template }),
        ...(claim.claim !== undefined && { resourceClaimName: claim.claim }),
      },
    ],
    containers: [{ name: "app", image: "app", resources: { claims: [{ name: "gpu" }] } }],
  },
});

/** A pod that asks for devices as for those of a device plugin. */
export const wantingExtended = (count: number): Draft<Pod> => ({
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "app", image: "app", resources: { limits: { "example.com/gpu": String(count) } } }],
  },
});
