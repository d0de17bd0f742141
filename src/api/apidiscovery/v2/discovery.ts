import { type Infer, list, ref, string, struct, typeMeta } from "#schema/index.ts";
import { ListMeta, ObjectMeta } from "#schema/object-meta.ts";
import { GroupVersionKind } from "../../meta/group-version.ts";

export const APISubresourceDiscovery = struct("apidiscovery/v2.APISubresourceDiscovery", {
  subresource: string(1).required(),
  responseKind: ref(2, GroupVersionKind),
  acceptedTypes: list(3, GroupVersionKind).keyedBy("group", "version", "kind").patch("replace"),
  verbs: list(4, "string").asSet().required(),
});
export interface APISubresourceDiscovery extends Infer<typeof APISubresourceDiscovery> {}

export const APIResourceDiscovery = struct("apidiscovery/v2.APIResourceDiscovery", {
  resource: string(1).required(),
  responseKind: ref(2, GroupVersionKind),
  scope: string(3).required(),
  singularResource: string(4).required(),
  verbs: list(5, "string").asSet().required(),
  shortNames: list(6, "string").asSet(),
  categories: list(7, "string").asSet(),
  subresources: list(8, APISubresourceDiscovery).keyedBy("subresource").patch("replace"),
});
export interface APIResourceDiscovery extends Infer<typeof APIResourceDiscovery> {}

export const APIVersionDiscovery = struct("apidiscovery/v2.APIVersionDiscovery", {
  version: string(1).required(),
  resources: list(2, APIResourceDiscovery).keyedBy("resource").patch("replace"),
  freshness: string(3),
});
export interface APIVersionDiscovery extends Infer<typeof APIVersionDiscovery> {}

export const APIGroupDiscovery = struct("apidiscovery/v2.APIGroupDiscovery", {
  ...typeMeta,
  metadata: ref(1, ObjectMeta).default({}),
  versions: list(2, APIVersionDiscovery).keyedBy("version").patch("replace"),
});
export interface APIGroupDiscovery extends Infer<typeof APIGroupDiscovery> {}

export const APIGroupDiscoveryList = struct("apidiscovery/v2.APIGroupDiscoveryList", {
  ...typeMeta,
  metadata: ref(1, ListMeta).default({}),
  items: list(2, APIGroupDiscovery).required(),
});
export interface APIGroupDiscoveryList extends Infer<typeof APIGroupDiscoveryList> {}
