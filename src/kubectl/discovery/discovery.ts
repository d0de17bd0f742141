// Asks a server what it serves: both halves at once from those that can tell, else group by group
// (upstream: client-go/discovery/discovery_client.go and aggregated_discovery.go).
import { ApiError } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../errors.ts";
import type { KubeObject, RestClient } from "../rest/client.ts";
import { type ApiGroup, joinGroupVersion, type ServerResource, type ServerResourceList } from "./server-resource.ts";

export interface DiscoveredApis {
  readonly groups: readonly ApiGroup[];
  /** By group and version; those that failed are missing. */
  readonly resources: ReadonlyMap<string, ServerResourceList>;
  readonly failures: ReadonlyMap<string, Error>;
}

const aggregated = ["v2", "v2beta1"].map(
  (version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
);
const acceptAggregated = [...aggregated, "application/json"].join(",");

/** Rejects if not even the groups can be told. */
export async function discover(client: RestClient): Promise<DiscoveredApis> {
  // One after the other: a second connection, with its handshake, would take longer than the answer.
  const legacy = await rootOf(client, "/api");
  const named = await rootOf(client, "/apis");
  const groups: ApiGroup[] = [];
  const resources = new Map<string, ServerResourceList>();
  const failures = new Map<string, Error>();
  const missing: string[] = [];
  for (const root of [legacy, named]) {
    if (!root) continue;
    if (root.kind === "APIGroupDiscoveryList") readAggregated(root, groups, resources, failures);
    else missing.push(...readGroups(root, groups));
  }
  await Promise.all(
    missing.map(async (groupVersion) => {
      try {
        resources.set(groupVersion, await resourcesOf(client, groupVersion));
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        failures.set(groupVersion, error);
      }
    }),
  );
  return { groups, resources, failures };
}

/** A server without one of the two roots, or that lets nobody see it, has nothing there. */
async function rootOf(client: RestClient, path: string): Promise<KubeObject | undefined> {
  try {
    return await client.json({ path, accept: acceptAggregated });
  } catch (error) {
    if (error instanceof ApiError && (error.code === 404 || error.code === 403)) return undefined;
    throw error;
  }
}

export async function resourcesOf(client: RestClient, groupVersion: string): Promise<ServerResourceList> {
  const path = groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
  const { resources } = await client.json({ path });
  return { groupVersion, resources: list(resources) as readonly ServerResource[] };
}

/** Returns the groups and versions whose resources are still to be asked for. */
function readGroups(root: KubeObject, groups: ApiGroup[]): readonly string[] {
  const found: ApiGroup[] =
    root.kind === "APIVersions"
      ? [coreGroup(list(root.versions).map(String))].filter((group) => group.versions.length > 0)
      : (list(root.groups) as ApiGroup[]);
  groups.push(...found);
  return found.flatMap(({ versions }) => versions.map(({ groupVersion }) => groupVersion));
}

function coreGroup(versions: readonly string[]): ApiGroup {
  const named = versions.map((version) => ({ groupVersion: version, version }));
  return { name: "", versions: named, preferredVersion: named[0] ?? { groupVersion: "", version: "" } };
}

function readAggregated(
  root: KubeObject,
  groups: ApiGroup[],
  resources: Map<string, ServerResourceList>,
  failures: Map<string, Error>,
): void {
  for (const item of list(root.items)) {
    if (!isObject(item) || !isObject(item.metadata)) continue;
    const name = String(item.metadata.name ?? "");
    const versions: ApiGroup["versions"][number][] = [];
    for (const one of list(item.versions)) {
      if (!isObject(one)) continue;
      const version = String(one.version);
      const groupVersion = joinGroupVersion(name, version);
      versions.push({ groupVersion, version });
      if (one.freshness === "Stale")
        failures.set(groupVersion, new KubectlError(`stale GroupVersion discovery: ${groupVersion}`));
      else
        resources.set(groupVersion, {
          groupVersion,
          resources: list(one.resources).flatMap((each) => aggregatedResource(each, name, version)),
        });
    }
    const [preferredVersion] = versions;
    if (preferredVersion) groups.push({ name, versions, preferredVersion });
  }
}

/** A resource and its subresources, which the older form lists as resources with a slash in their name. */
function aggregatedResource(value: unknown, group: string, version: string): readonly ServerResource[] {
  if (!isObject(value)) return [];
  const name = String(value.resource ?? "");
  const namespaced = value.scope === "Namespaced";
  const singularName = String(value.singularResource ?? "");
  const names = (kind: unknown) => {
    const own = isObject(kind) ? kind : {};
    return {
      kind: String(own.kind ?? ""),
      ...(own.group !== undefined &&
        (own.group !== group || own.version !== version) &&
        own.group !== "" && { group: String(own.group), version: String(own.version) }),
    };
  };
  const verbs = (of: unknown) => list(of).map(String);
  const whole: ServerResource = {
    name,
    singularName,
    namespaced,
    ...names(value.responseKind),
    verbs: verbs(value.verbs),
    ...(value.shortNames !== undefined && { shortNames: list(value.shortNames).map(String) }),
    ...(value.categories !== undefined && { categories: list(value.categories).map(String) }),
  };
  const parts = list(value.subresources).flatMap((part) =>
    isObject(part) && isObject(part.responseKind)
      ? [
          {
            name: `${name}/${part.subresource}`,
            singularName,
            namespaced,
            ...names(part.responseKind),
            verbs: verbs(part.verbs),
          },
        ]
      : [],
  );
  return isObject(value.responseKind) ? [whole, ...parts] : parts;
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
