import type { APIResourceDiscovery } from "#api/apidiscovery/v2/discovery.ts";
import type { APIResourceList } from "#api/meta/discovery.ts";

type ListedResources = APIResourceList["resources"];

/** From a list in which subresources stand beside what they belong to, to one in which they stand below it. */
export function resourcesTogether(all: ListedResources): readonly APIResourceDiscovery[] {
  const owners = new Map<string, ListedResources[number]>();
  for (const one of all) if (!one.name.includes("/")) owners.set(one.name, one);
  const below = Map.groupBy(
    all.filter(({ name }) => name.includes("/")),
    ({ name }) => name.slice(0, name.indexOf("/")),
  );
  const names = new Set([...owners.keys(), ...below.keys()]);
  return [...names].map((name) => {
    const owner = owners.get(name);
    const subresources = (below.get(name) ?? []).map((one) => ({
      subresource: one.name.slice(name.length + 1),
      responseKind: kindOf(one),
      verbs: one.verbs,
    }));
    return {
      resource: name,
      // One that is there for its subresources alone has no kind of its own.
      responseKind: owner && kindOf(owner),
      scope: (owner ?? below.get(name)?.[0])?.namespaced ? "Namespaced" : "Cluster",
      singularResource: owner?.singularName ?? "",
      verbs: owner?.verbs ?? [],
      ...(owner?.shortNames && { shortNames: owner.shortNames }),
      ...(owner?.categories && { categories: owner.categories }),
      ...(subresources.length > 0 && { subresources }),
    } as APIResourceDiscovery;
  });
}

const kindOf = ({ group = "", version = "", kind }: ListedResources[number]) => ({ group, version, kind });
