import { ageColumn, nameColumn } from "#schema/columns.ts";
import { qualifiedName } from "#schema/formats.ts";
import { type Infer, inline, invalid, list, ref, resource, string, struct } from "#schema/index.ts";
import { most } from "./checks.ts";
import { DeviceConfiguration, DeviceSelector } from "./device-request.ts";

export const DeviceClassConfiguration = struct("resource/v1.DeviceClassConfiguration", {
  ...inline(1, DeviceConfiguration),
});
export interface DeviceClassConfiguration extends Infer<typeof DeviceClassConfiguration> {}

export const DeviceClassSpec = struct(
  "resource/v1.DeviceClassSpec",
  {
    selectors: list(1, DeviceSelector, "What devices of the class are like; all must fit.").maxItems(most.selectors),
    config: list(2, DeviceClassConfiguration, "Settings for devices of the class.").maxItems(most.config),
    extendedResourceName: string(
      4,
      "A resource name under which containers can ask for devices of the class.",
    ).pointer(),
  },
  {
    *check({ extendedResourceName: name }) {
      if (name !== undefined && !isExtendedResource(name))
        yield invalid("extendedResourceName", "must be a valid extended resource name");
    },
  },
);
export interface DeviceClassSpec extends Infer<typeof DeviceClassSpec> {}

export const DeviceClass = resource({
  group: "resource.k8s.io",
  version: "v1",
  kind: "DeviceClass",
  plural: "deviceclasses",
  returnsDeleted: true,
  scope: "Cluster",
  doc: "A kind of device that claims can ask for by name.",
  fields: {
    spec: ref(2, DeviceClassSpec, "What is wanted.").required(),
  },
  columns: [nameColumn, ageColumn],
});
export interface DeviceClass extends Infer<typeof DeviceClass> {}

/** A name with a domain that is not Kubernetes' own, and that a quota can be set on. */
const isExtendedResource = (name: string): boolean =>
  name.includes("/") &&
  !/(^|\.)kubernetes\.io\//.test(name) &&
  !name.startsWith("requests.") &&
  qualifiedName(`requests.${name}`).length === 0;
