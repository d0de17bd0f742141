import { bool, type Infer, list, ref, string, struct, typeMeta } from "#schema/index.ts";

export const GroupVersionForDiscovery = struct("meta/v1.GroupVersionForDiscovery", {
  groupVersion: string(1).required(),
  version: string(2).required(),
});
export interface GroupVersionForDiscovery extends Infer<typeof GroupVersionForDiscovery> {}

export const ServerAddressByClientCIDR = struct("meta/v1.ServerAddressByClientCIDR", {
  clientCIDR: string(1).required(),
  serverAddress: string(2).required(),
});
export interface ServerAddressByClientCIDR extends Infer<typeof ServerAddressByClientCIDR> {}

export const APIGroup = struct("meta/v1.APIGroup", {
  ...typeMeta,
  name: string(1).required(),
  versions: list(2, GroupVersionForDiscovery).required(),
  preferredVersion: ref(3, GroupVersionForDiscovery).default({}),
  serverAddressByClientCIDRs: list(4, ServerAddressByClientCIDR),
});
export interface APIGroup extends Infer<typeof APIGroup> {}

export const APIGroupList = struct("meta/v1.APIGroupList", {
  ...typeMeta,
  groups: list(1, APIGroup).required(),
});
export interface APIGroupList extends Infer<typeof APIGroupList> {}

export const APIResource = struct("meta/v1.APIResource", {
  name: string(1).required(),
  singularName: string(6).required(),
  namespaced: bool(2).required(),
  group: string(8),
  version: string(9),
  kind: string(3).required(),
  verbs: list(4, "string").required().boxed(),
  shortNames: list(5, "string"),
  categories: list(7, "string"),
  storageVersionHash: string(10),
});
export interface APIResource extends Infer<typeof APIResource> {}

export const APIResourceList = struct("meta/v1.APIResourceList", {
  ...typeMeta,
  groupVersion: string(1).required(),
  resources: list(2, APIResource).required(),
});
export interface APIResourceList extends Infer<typeof APIResourceList> {}

export const APIVersions = struct("meta/v1.APIVersions", {
  ...typeMeta,
  versions: list(1, "string").required(),
  serverAddressByClientCIDRs: list(2, ServerAddressByClientCIDR).required(),
});
export interface APIVersions extends Infer<typeof APIVersions> {}
