// Discovery documents: groups, versions and resources. Derived from the kinds that are served.
import { toBase64 } from "#base/base64.ts";
import { own } from "#base/collections.ts";
import { sha256 } from "#base/sha256.ts";
import { type AnyKind, type Subresource, subresourcesOf } from "./kind.ts";

/** Which group comes first, and in a group which version: larger is earlier. */
export interface GroupPriority {
  readonly group: number;
  readonly versions: Readonly<Record<string, number>>;
}

export interface Catalog {
  readonly kinds: readonly AnyKind[];
  /** By group. Those not named come last, as custom resources do. */
  readonly priorities: Readonly<Record<string, GroupPriority>>;
  /** The kind of every `scale` subresource. */
  readonly Scale: AnyKind;
  /** Versions that other servers serve; kinds of such a version are left out. */
  readonly foreign?: readonly ForeignVersion[];
}

/** What another server says of a version of a group. */
export interface ForeignVersion {
  readonly group: string;
  readonly version: string;
  /** An APIVersionDiscovery. */
  readonly discovery: {
    readonly version: string;
    readonly resources?: readonly object[];
    readonly freshness: "Current" | "Stale";
  };
}

export interface ServedVersion {
  readonly version: string;
  readonly kinds: readonly AnyKind[];
  /** Set if another server answers for it; then there are no kinds. */
  readonly foreign?: ForeignVersion["discovery"];
}

export interface ServedGroup {
  readonly group: string;
  /** The preferred one first. */
  readonly versions: readonly ServedVersion[];
}

/** What the server says of a group it does not know: custom resources come after all that is built in. */
export const customPriority: GroupPriority = { group: 1000, versions: {} };
export const customVersionPriority = 100;

/** All groups in the order that discovery lists them. */
export function servedGroups({ kinds, priorities, foreign = [] }: Catalog): readonly ServedGroup[] {
  const priority = (group: string) => own(priorities, group) ?? customPriority;
  const versionsBy = Map.groupBy(kinds, ({ group }) => group);
  for (const { group } of foreign) if (!versionsBy.has(group)) versionsBy.set(group, []);
  return [...versionsBy]
    .toSorted(([a], [b]) => priority(b).group - priority(a).group || (a < b ? -1 : 1))
    .map(([group, ofGroup]) => {
      const rank = (version: string) => own(priority(group).versions, version) ?? customVersionPriority;
      const versions = versionsOf(
        ofGroup,
        foreign.filter((one) => one.group === group),
      );
      return { group, versions: versions.toSorted((a, b) => rank(b.version) - rank(a.version) || byVersion(a, b)) };
    });
}

function versionsOf(kinds: readonly AnyKind[], foreign: readonly ForeignVersion[]): readonly ServedVersion[] {
  const versions = new Map<string, ServedVersion>();
  for (const [version, ofVersion] of Map.groupBy(kinds, (kind) => kind.version))
    versions.set(version, { version, kinds: ofVersion });
  for (const { version, discovery } of foreign) versions.set(version, { version, kinds: [], foreign: discovery });
  return [...versions.values()];
}

const byVersion = (a: ServedVersion, b: ServedVersion): number => compareVersions(a.version, b.version);

/** Orders versions as Kubernetes does, the one to prefer first: v2, v1, v1beta2, v1beta1, v1alpha1, then all else by name. */
export function compareVersions(a: string, b: string): number {
  const left = parseVersion(a);
  const right = parseVersion(b);
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : a > b ? 1 : 0;
  return right.stage - left.stage || right.major - left.major || right.minor - left.minor;
}

function parseVersion(version: string) {
  const [whole, major, stage, minor] = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version) ?? [];
  if (whole === undefined) return undefined;
  return { major: Number(major), stage: stage === undefined ? 2 : stage === "beta" ? 1 : 0, minor: Number(minor ?? 0) };
}

/** `/api`. The address is what clients outside of the cluster reach the server by. */
export const apiVersions = (serverAddress: string) => ({
  kind: "APIVersions" as const,
  versions: ["v1"],
  serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
});

/** `/apis` */
export const apiGroupList = (catalog: Catalog) => ({
  kind: "APIGroupList" as const,
  apiVersion: "v1" as const,
  groups: servedGroups(catalog)
    .filter(({ group }) => group !== "")
    .map(groupItem),
});

/** `/apis/<group>`; undefined where there is no such group. */
export function apiGroup(catalog: Catalog, group: string) {
  const served = group === "" ? undefined : servedGroups(catalog).find((one) => one.group === group);
  return served && { kind: "APIGroup" as const, apiVersion: "v1" as const, ...groupItem(served) };
}

function groupItem({ group, versions }: ServedGroup) {
  const items = versions.map(({ version }) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: items, preferredVersion: items[0] };
}

export interface ApiResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  /** Given where the kind is of another group and version than the resource. */
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

/** `/api/v1` and `/apis/<group>/<version>`; undefined where nothing is served. */
export function apiResourceList(catalog: Catalog, group: string, version: string) {
  const kinds = catalog.kinds.filter((kind) => kind.group === group && kind.version === version);
  if (kinds.length === 0) return undefined;
  return {
    kind: "APIResourceList" as const,
    // Upstream leaves it out for the core group, and clients compare.
    ...(group !== "" && { apiVersion: "v1" as const }),
    groupVersion: group === "" ? version : `${group}/${version}`,
    resources: kinds
      .flatMap((kind) => [resourceItem(kind), ...subresourceItems(kind, catalog)])
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function resourceItem(kind: AnyKind): ApiResource {
  const { plural, singular, scope, verbs, stored } = kind;
  return {
    name: plural,
    singularName: singular,
    namespaced: scope === "Namespaced",
    kind: kind.kind,
    // Upstream lists the verbs of custom resources in the order of its handler.
    verbs: kind.model.publication.isUnstructured ? verbs : verbs.toSorted(),
    ...names(kind),
    ...(stored !== false && { storageVersionHash: storageVersionHash(kind) }),
  };
}

function subresourceItems(kind: AnyKind, catalog: Catalog): readonly ApiResource[] {
  return Object.entries(subresourcesOf(kind, catalog.Scale)).map(([name, subresource]) => ({
    name: `${kind.plural}/${name}`,
    singularName: "",
    namespaced: kind.scope === "Namespaced",
    ...foreignKind(kind, subresource),
    verbs: subresource.verbs.toSorted(),
  }));
}

function foreignKind(kind: AnyKind, { kind: other, kindName }: Subresource) {
  const body = other?.() ?? kind;
  const foreign = body.apiVersion !== kind.apiVersion;
  return { ...(foreign && { group: body.group, version: body.version }), kind: kindName ?? body.kind };
}

const names = ({ shortNames, categories }: Pick<ApiResource, "shortNames" | "categories">) => ({
  ...(shortNames && shortNames.length > 0 && { shortNames }),
  ...(categories && categories.length > 0 && { categories }),
});

/** The storage version hash: equal hashes mean the same stored form. */
export function storageVersionHash(kind: AnyKind): string {
  const { group, version, storageVersion = version, kind: name } = kind.convert?.to() ?? kind;
  return toBase64(sha256(`${group}/${storageVersion}/${name}`).subarray(0, 8));
}

/** All of the above in one answer: of `/api` for the core group, of `/apis` for the others. */
export const groupDiscoveryList = (catalog: Catalog, of: "api" | "apis") => ({
  kind: "APIGroupDiscoveryList" as const,
  apiVersion: "apidiscovery.k8s.io/v2" as const,
  metadata: {},
  items: servedGroups(catalog)
    .filter(({ group }) => (group === "") === (of === "api"))
    .map(({ group, versions }) => ({
      metadata: group === "" ? {} : { name: group },
      versions: versions.map(
        ({ version, kinds, foreign }) =>
          foreign ?? {
            version,
            resources: kinds.map((kind) => resourceDiscovery(kind, catalog)).toSorted(byResource),
            freshness: "Current" as const,
          },
      ),
    })),
});

const byResource = (a: { readonly resource: string }, b: { readonly resource: string }) =>
  a.resource < b.resource ? -1 : 1;

function resourceDiscovery(kind: AnyKind, catalog: Catalog) {
  const { name, singularName, namespaced, verbs } = resourceItem(kind);
  const subresources = subresourceItems(kind, catalog).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    resource: name,
    responseKind: responseKind(kind, kind),
    scope: namespaced ? ("Namespaced" as const) : ("Cluster" as const),
    singularResource: singularName,
    verbs,
    ...names(kind),
    ...(subresources.length > 0 && {
      subresources: subresources.map((one) => ({
        subresource: one.name.slice(kind.plural.length + 1),
        responseKind: responseKind(kind, one),
        verbs: one.verbs,
      })),
    }),
  };
}

/** Of built-in resources the group and version are left empty where they are those of the resource. */
function responseKind(
  of: AnyKind,
  item: { readonly group?: string; readonly version?: string; readonly kind: string },
) {
  const { group = of.group, version = of.version, kind } = item;
  const own = of.model.publication.abbreviatesKinds && group === of.group && version === of.version;
  return own ? { group: "", version: "", kind } : { group, version, kind };
}
