import { type Infer, ref, resource, string, struct } from "#schema/index.ts";

export const ParentReference = struct("networking/v1.ParentReference", {
  group: string(1),
  resource: string(2).required().omitEmpty(),
  namespace: string(3),
  name: string(4).required().omitEmpty(),
});
export interface ParentReference extends Infer<typeof ParentReference> {}

export const IPAddressSpec = struct("networking/v1.IPAddressSpec", {
  parentRef: ref(1, ParentReference).required().pointer(),
});
export interface IPAddressSpec extends Infer<typeof IPAddressSpec> {}

export const IPAddress = resource({
  group: "networking.k8s.io",
  version: "v1",
  kind: "IPAddress",
  plural: "ipaddresses",
  shortNames: ["ip"],
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, IPAddressSpec).required(),
  },
});
export interface IPAddress extends Infer<typeof IPAddress> {}
