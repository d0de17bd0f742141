import { type Infer, list, ref, string, struct, typeMeta } from "#schema/index.ts";
import { ListMeta, ObjectMeta } from "#schema/object-meta.ts";
import { GroupVersionKind } from "../../meta/group-version.ts";

export const APISubresourceDiscovery = struct(
  "apidiscovery/v2.APISubresourceDiscovery",
  {
    subresource: string(1, "Its name in URLs.").required(),
    responseKind: ref(
      2,
      GroupVersionKind,
      "The kind of what is answered; an empty group and version are those of the resource.",
    ),
    acceptedTypes: list(3, GroupVersionKind, "The kinds of what may be sent.")
      .keyedBy("group", "version", "kind")
      .patch("replace"),
    verbs: list(4, "string", "What can be done.").asSet().required(),
  },
  { doc: "A subresource and what can be done with it." },
);
export interface APISubresourceDiscovery extends Infer<typeof APISubresourceDiscovery> {}

export const APIResourceDiscovery = struct(
  "apidiscovery/v2.APIResourceDiscovery",
  {
    resource: string(1, "The plural name in URLs.").required(),
    responseKind: ref(
      2,
      GroupVersionKind,
      "The kind of what is answered; an empty group and version are those of the resource.",
    ),
    scope: string(3, "Namespaced or Cluster.").required(),
    singularResource: string(4, "The name of one, for people.").required(),
    verbs: list(5, "string", "What can be done.").asSet().required(),
    shortNames: list(6, "string", "Shorter names for people.").asSet(),
    categories: list(7, "string", "Names for many resources at once, like all.").asSet(),
    subresources: list(8, APISubresourceDiscovery, "What lies below the objects.")
      .keyedBy("subresource")
      .patch("replace"),
  },
  { doc: "A resource and what can be done with it." },
);
export interface APIResourceDiscovery extends Infer<typeof APIResourceDiscovery> {}

export const APIVersionDiscovery = struct(
  "apidiscovery/v2.APIVersionDiscovery",
  {
    version: string(1, "Its name.").required(),
    resources: list(2, APIResourceDiscovery, "What is served in it.").keyedBy("resource").patch("replace"),
    freshness: string(3, "Current, or Stale where the server behind it did not answer."),
  },
  { doc: "A version of a group." },
);
export interface APIVersionDiscovery extends Infer<typeof APIVersionDiscovery> {}

export const APIGroupDiscovery = struct(
  "apidiscovery/v2.APIGroupDiscovery",
  {
    ...typeMeta,
    metadata: ref(1, ObjectMeta, "The name of the group is its name.").default({}),
    versions: list(2, APIVersionDiscovery, "The versions, the preferred one first.")
      .keyedBy("version")
      .patch("replace"),
  },
  { doc: "A group and its versions." },
);
export interface APIGroupDiscovery extends Infer<typeof APIGroupDiscovery> {}

export const APIGroupDiscoveryList = struct(
  "apidiscovery/v2.APIGroupDiscoveryList",
  {
    ...typeMeta,
    metadata: ref(1, ListMeta, "Nothing that clients need.").default({}),
    items: list(2, APIGroupDiscovery, "The groups, in the order to look for a resource in.").required(),
  },
  { doc: "All that is served." },
);
export interface APIGroupDiscoveryList extends Infer<typeof APIGroupDiscoveryList> {}
