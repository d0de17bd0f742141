// From what people type to what a server serves: `po`, `deploy.v1.apps`, `Service`, `all`
// (upstream: client-go/restmapper, apimachinery/pkg/api/meta/restmapper.go and priority.go).
import { ExitError, KubectlError } from "../errors.ts";
import type { CachedDiscovery } from "./cached-discovery.ts";
import type { DiscoveredApis } from "./discovery.ts";
import { type ServerResource, splitGroupVersion } from "./server-resource.ts";

/** A resource of a server, with everything that requests and messages need. */
export interface RestMapping {
  readonly group: string;
  readonly version: string;
  /** Plural, lower-case. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
}

/** `deployments.apps`, or `pods` of the core group. */
export const resourceName = ({ resource, group }: Pick<RestMapping, "resource" | "group">): string =>
  group === "" ? resource : `${resource}.${group}`;
export const apiVersionOf = ({ group, version }: Pick<RestMapping, "group" | "version">): string =>
  group === "" ? version : `${group}/${version}`;

/** The server has nothing of that kind. */
export class NoKindMatch extends KubectlError {}

interface PartialResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export class RestMapper {
  readonly #discovery: CachedDiscovery;
  readonly #warn: (text: string) => void;

  constructor(discovery: CachedDiscovery, warn: (text: string) => void) {
    this.#discovery = discovery;
    this.#warn = warn;
  }

  /** What an argument such as `po`, `pods`, `Pod`, `deploy.apps` or `deployments.v1.apps` means. Throws KubectlError. */
  async mappingFor(arg: string): Promise<RestMapping> {
    const found = await this.#search((apis) => this.#byArgument(apis, arg));
    if (found) return found;
    throw new KubectlError(`the server doesn't have a resource type ${JSON.stringify(splitFirst(arg).resource)}`);
  }

  /** The same for commands that say what is missing without calling it an error: as upstream does it. */
  async resourceFor(arg: string): Promise<RestMapping> {
    try {
      return await this.mappingFor(arg);
    } catch (error) {
      throw error instanceof KubectlError ? new ExitError(1, error.message, { cause: error }) : error;
    }
  }

  /** The resource of a kind, in the version asked for, else in the group's preferred one. Throws NoKindMatch. */
  async mappingForKind(group: string, kind: string, version = ""): Promise<RestMapping> {
    const found = await this.#search((apis) => byKind(mappingsOf(apis), group, kind, version));
    if (found) return found;
    const where =
      version === ""
        ? group === ""
          ? ""
          : ` in group ${JSON.stringify(group)}`
        : ` in version ${JSON.stringify(group === "" ? version : `${group}/${version}`)}`;
    throw new NoKindMatch(`no matches for kind ${JSON.stringify(kind)}${where}`);
  }

  /** The resources of a category such as `all`; undefined if there is no category of that name. */
  async category(name: string): Promise<readonly string[] | undefined> {
    const apis = await this.#discovery.apis();
    const members = entriesOf(apis).filter(({ entry }) => entry.categories?.includes(name));
    return members.length === 0 ? undefined : [...new Set(members.map(({ mapping }) => resourceName(mapping)))];
  }

  /** Everything the server serves, each in every version, preferred ones first. */
  async all(): Promise<readonly RestMapping[]> {
    return mappingsOf(await this.#discovery.apis());
  }

  async #search(find: (apis: DiscoveredApis) => RestMapping | undefined): Promise<RestMapping | undefined> {
    const found = find(await this.#discovery.apis());
    if (found || this.#discovery.isFresh) return found;
    this.#discovery.invalidate();
    return find(await this.#discovery.apis());
  }

  #byArgument(apis: DiscoveredApis, arg: string): RestMapping | undefined {
    const mappings = mappingsOf(apis);
    const [resource = "", second, ...rest] = arg.split(".");
    const partial = splitFirst(arg);
    const exact = rest.length > 0 ? { resource, version: second ?? "", group: rest.join(".") } : undefined;
    const byName = (wanted: PartialResource) => byResource(mappings, this.#expand(apis, wanted));
    const found = (exact && byName(exact)) ?? byName({ ...partial, version: "" });
    if (found) return found;
    return (
      (exact && byKind(mappings, exact.group, exact.resource, exact.version)) ??
      byKind(mappings, partial.group, partial.resource, "")
    );
  }

  /** A short name becomes the name it stands for, unless something has exactly that name. */
  #expand(apis: DiscoveredApis, wanted: PartialResource): PartialResource {
    const entries = entriesOf(apis);
    const inGroup = (group: string) => wanted.group === "" || group === wanted.group;
    if (
      entries.some(
        ({ entry, mapping }) => inGroup(mapping.group) && [entry.name, entry.singularName].includes(wanted.resource),
      )
    )
      return wanted;
    const isShort = ({ entry }: MappedEntry) => entry.shortNames?.includes(wanted.resource);
    const short = entries.filter((one) => inGroup(one.mapping.group) && isShort(one));
    const names = [...new Set(short.map(({ mapping }) => resourceName(mapping)))];
    for (const other of names.slice(1))
      this.#warn(`short name ${JSON.stringify(wanted.resource)} could also match lower priority resource ${other}`);
    // As upstream does it, a short name with a version means the preferred version all the same.
    if (short[0]) return { ...short[0].mapping, version: "" };
    const near = entries.find((one) => one.mapping.group.startsWith(wanted.group) && isShort(one));
    return near ? { ...near.mapping, version: wanted.version } : wanted;
  }
}

function splitFirst(arg: string): { readonly resource: string; readonly group: string } {
  const at = arg.indexOf(".");
  return at < 0 ? { resource: arg, group: "" } : { resource: arg.slice(0, at), group: arg.slice(at + 1) };
}

interface MappedEntry {
  readonly entry: ServerResource;
  readonly mapping: RestMapping;
}

const known = new WeakMap<DiscoveredApis, readonly MappedEntry[]>();

/** Preferred versions of all groups come first, in the order of the groups. */
function entriesOf(apis: DiscoveredApis): readonly MappedEntry[] {
  const present = known.get(apis);
  if (present) return present;
  const entries = [true, false].flatMap((isPreferred) =>
    apis.groups.flatMap(({ versions, preferredVersion }) =>
      versions
        .filter(({ groupVersion }) => (groupVersion === preferredVersion.groupVersion) === isPreferred)
        .flatMap(({ groupVersion }) =>
          (apis.resources.get(groupVersion)?.resources ?? []).flatMap((entry) => mapped(entry, groupVersion)),
        ),
    ),
  );
  known.set(apis, entries);
  return entries;
}

function mapped(entry: ServerResource, groupVersion: string): readonly MappedEntry[] {
  if (entry.name.includes("/")) return [];
  const { group, version } = splitGroupVersion(groupVersion);
  const mapping = {
    group,
    version,
    resource: entry.name,
    singular: entry.singularName || entry.kind.toLowerCase(),
    kind: entry.kind,
    isNamespaced: entry.namespaced,
    verbs: entry.verbs,
  };
  return [{ entry, mapping }];
}

const mappingsOf = (apis: DiscoveredApis): readonly RestMapping[] => entriesOf(apis).map(({ mapping }) => mapping);

/** A group may be abbreviated where nothing has it in full: `ingresses.networking`. */
function byResource(
  mappings: readonly RestMapping[],
  { group, version, resource }: PartialResource,
): RestMapping | undefined {
  const name = resource.toLowerCase();
  const named = mappings.filter(
    (one) => (one.resource === name || one.singular === name) && (version === "" || one.version === version),
  );
  if (group === "") return named[0];
  return named.find((one) => one.group === group) ?? named.find((one) => one.group.startsWith(group));
}

function byKind(
  mappings: readonly RestMapping[],
  group: string,
  kind: string,
  version: string,
): RestMapping | undefined {
  const named = mappings.filter((one) => one.kind === kind && one.group === group);
  return version === "" ? named[0] : named.find((one) => one.version === version);
}
