import { bool, type Infer, list, ref, string, struct, typeMeta } from "#schema/index.ts";

export const GroupVersionForDiscovery = struct(
  "meta/v1.GroupVersionForDiscovery",
  {
    groupVersion: string(1, "Group and version: apps/v1.").required(),
    version: string(2, "The version alone: v1.").required(),
  },
  { doc: "A version of a group." },
);
export interface GroupVersionForDiscovery extends Infer<typeof GroupVersionForDiscovery> {}

export const ServerAddressByClientCIDR = struct(
  "meta/v1.ServerAddressByClientCIDR",
  {
    clientCIDR: string(1, "The network the client is in.").required(),
    serverAddress: string(2, "The address to use there: host, address or host and port.").required(),
  },
  { doc: "Where clients of a network reach the server." },
);
export interface ServerAddressByClientCIDR extends Infer<typeof ServerAddressByClientCIDR> {}

export const APIGroup = struct(
  "meta/v1.APIGroup",
  {
    ...typeMeta,
    name: string(1, "The name of the group.").required(),
    versions: list(2, GroupVersionForDiscovery, "The versions that are served.").required(),
    preferredVersion: ref(3, GroupVersionForDiscovery, "The version to use when any will do.").default({}),
    serverAddressByClientCIDRs: list(
      4,
      ServerAddressByClientCIDR,
      "Where clients reach the server, by network; the first that fits counts.",
    ),
  },
  { doc: "A group of the API and its versions." },
);
export interface APIGroup extends Infer<typeof APIGroup> {}

export const APIGroupList = struct(
  "meta/v1.APIGroupList",
  {
    ...typeMeta,
    groups: list(1, APIGroup, "The groups, but for the core one.").required(),
  },
  { doc: "The groups that are served." },
);
export interface APIGroupList extends Infer<typeof APIGroupList> {}

export const APIResource = struct(
  "meta/v1.APIResource",
  {
    name: string(1, "The plural name in URLs.").required(),
    singularName: string(6, "The name of one, for people.").required(),
    namespaced: bool(2, "Whether objects live in namespaces.").required(),
    group: string(8, "The group of the kind, where it is another than the resource has."),
    version: string(9, "The version of the kind, where it is another than the resource has."),
    kind: string(3, "The kind of the objects.").required(),
    verbs: list(4, "string", "What can be done: get, list, watch, create, update, patch, delete and so on.")
      .required()
      .boxed(),
    shortNames: list(5, "string", "Shorter names for people."),
    categories: list(7, "string", "Names for many resources at once, like all."),
    storageVersionHash: string(10, "Changes when objects are stored in another form; otherwise without meaning."),
  },
  { doc: "A resource and what can be done with it." },
);
export interface APIResource extends Infer<typeof APIResource> {}

export const APIResourceList = struct(
  "meta/v1.APIResourceList",
  {
    ...typeMeta,
    groupVersion: string(1, "The group and version.").required(),
    resources: list(2, APIResource, "The resources, with their subresources.").required(),
  },
  { doc: "The resources of a group and version." },
);
export interface APIResourceList extends Infer<typeof APIResourceList> {}

export const APIVersions = struct(
  "meta/v1.APIVersions",
  {
    ...typeMeta,
    versions: list(1, "string", "The versions that are served.").required(),
    serverAddressByClientCIDRs: list(
      2,
      ServerAddressByClientCIDR,
      "Where clients reach the server, by network; the first that fits counts.",
    ).required(),
  },
  { doc: "The versions of the core group." },
);
export interface APIVersions extends Infer<typeof APIVersions> {}
