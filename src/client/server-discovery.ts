// Asks a server what it serves: in two requests where the server can tell everything at once, else group by group. An answer that
// has not changed since the last time costs neither transfer nor reading.
import { APIGroupDiscoveryList, type APIVersionDiscovery } from "#api/apidiscovery/v2/discovery.ts";
import { catalog } from "#api/catalog.ts";
import { type APIGroup, APIGroupList, APIResourceList, APIVersions } from "#api/meta/discovery.ts";
import { inBatches } from "#base/collections.ts";
import { isNotFound } from "#base/errors.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Infer } from "#schema/infer.ts";
import { parseJson } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { AnyStruct } from "#schema/struct.ts";
import type { Discovery, DiscoveryResult } from "./discovery.ts";
import { type DiscoveredResource, metadataKind } from "./metadata-kind.ts";

const plainType = "application/json";
const aggregatedType = `${plainType};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,${plainType}`;
const groupsAtOnce = 10;

export interface Document {
  readonly text: string;
  /** The ETag: sent with the next request, which then has no body if nothing has changed. */
  readonly etag: string | undefined;
}

/** Gets the text under a path; undefined if it still has the given ETag. Rejects with ApiError for a refusal. */
export type ReadDocument = (
  path: string,
  options: { readonly accept: string; readonly etag: string | undefined; readonly signal: AbortSignal },
) => Promise<Document | undefined>;

/** What is served of one version of a group. */
interface ServedVersion {
  readonly groupVersion: string;
  readonly resources: readonly DiscoveredResource[];
  readonly failure?: unknown;
}

interface CachedDocument {
  readonly etag: string;
  readonly value: unknown;
}

export class ServerDiscovery implements Discovery {
  readonly #read: ReadDocument;
  /** What `/api` and `/apis` answered. */
  readonly #documents = new Map<string, CachedDocument>();
  /** Kinds without a declaration, by what discovery says of them: as long as that is unchanged, the same Kind object is returned. */
  #made: ReadonlyMap<string, AnyKind> = new Map();
  #last: { readonly values: readonly unknown[]; readonly discovered: DiscoveryResult } | undefined;

  constructor(read: ReadDocument) {
    this.#read = read;
  }

  async discover(signal: AbortSignal): Promise<DiscoveryResult> {
    const values = await Promise.all([this.#core(signal), this.#root("/apis", signal)]);
    if (this.#last && values.every((value, i) => isAggregated(value) && value === this.#last?.values[i]))
      return this.#last.discovered;
    const versions = (await Promise.all(values.map((value) => this.#versions(value, signal)))).flat();
    const failures = new Map(
      versions.flatMap(({ groupVersion, failure }) => (failure === undefined ? [] : [[groupVersion, failure]])),
    );
    const discovered = { kinds: this.#kinds(versions.flatMap(({ resources }) => resources)), failures };
    this.#last = { values, discovered };
    return discovered;
  }

  /** A server that stands behind another one has no core group. */
  async #core(signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#root("/api", signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** The same value as last time if the server says that nothing has changed. */
  async #root(path: string, signal: AbortSignal): Promise<unknown> {
    const held = this.#documents.get(path);
    const document = await this.#read(path, { accept: aggregatedType, etag: held?.etag, signal });
    if (!document) return held?.value;
    const { value } = parseJson(document.text);
    if (document.etag === undefined) this.#documents.delete(path);
    else this.#documents.set(path, { etag: document.etag, value });
    return value;
  }

  /** Of what `/api` or `/apis` answered. */
  async #versions(value: unknown, signal: AbortSignal): Promise<readonly ServedVersion[]> {
    if (value === undefined) return [];
    if (isAggregated(value)) return toldTogether(decoded(APIGroupDiscoveryList, value));
    if (isOf(value, "APIVersions")) {
      const { versions } = decoded(APIVersions, value);
      return this.#oneByOne(
        versions.map((version) => ({ group: "", version })),
        signal,
      );
    }
    const { groups } = decoded(APIGroupList, value);
    return this.#oneByOne(groups.flatMap(byPreference), signal);
  }

  async #oneByOne(
    all: readonly { readonly group: string; readonly version: string }[],
    signal: AbortSignal,
  ): Promise<readonly ServedVersion[]> {
    const answers = new Map<string, ServedVersion>();
    await inBatches(groupsAtOnce, all, async ({ group, version }) => {
      const groupVersion = groupVersionOf(group, version);
      const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      try {
        const document = await this.#read(path, { accept: plainType, etag: undefined, signal });
        const { resources } = decoded(APIResourceList, parseJson(document?.text ?? "").value);
        answers.set(groupVersion, { groupVersion, resources: resourcesIn(resources, group, version) });
      } catch (failure) {
        if (signal.aborted) throw failure;
        answers.set(groupVersion, { groupVersion, resources: [], failure });
      }
    });
    return all.flatMap(({ group, version }) => answers.get(groupVersionOf(group, version)) ?? []);
  }

  #kinds(resources: readonly DiscoveredResource[]): readonly AnyKind[] {
    const made = new Map<string, AnyKind>();
    const kinds = resources.map((resource) => {
      const known = declared.get(keyOf(resource));
      if (known) return known;
      const description = JSON.stringify(resource);
      const kind = this.#made.get(description) ?? metadataKind(resource);
      made.set(description, kind);
      return kind;
    });
    this.#made = made;
    return kinds;
  }
}

const keyOf = ({ group, version, plural, kind }: Pick<AnyKind, "group" | "version" | "plural" | "kind">): string =>
  [group, version, plural, kind].join("/");
const declared: ReadonlyMap<string, AnyKind> = new Map(catalog.map((kind) => [keyOf(kind), kind]));

const groupVersionOf = (group: string, version: string): string => (group === "" ? version : `${group}/${version}`);

/** A copy: decoding changes its input, and the parsed response is cached. */
const decoded = <S extends AnyStruct>(struct: S, value: unknown): Infer<S> =>
  applyDefaults(struct, decodeValue(struct, structuredClone(value)).object) as Infer<S>;

const isOf = (value: unknown, kind: string): boolean =>
  typeof value === "object" && value !== null && "kind" in value && value.kind === kind;
const isAggregated = (value: unknown): boolean => isOf(value, "APIGroupDiscoveryList");

const byPreference = ({ name, versions, preferredVersion }: APIGroup) =>
  versions
    .map(({ version }) => ({ group: name, version }))
    .toSorted(
      (a, b) => Number(b.version === preferredVersion.version) - Number(a.version === preferredVersion.version),
    );

function toldTogether({ items }: APIGroupDiscoveryList): readonly ServedVersion[] {
  return items.flatMap(({ metadata, versions = [] }) => {
    const group = metadata.name ?? "";
    return versions.map((version): ServedVersion => {
      const groupVersion = groupVersionOf(group, version.version);
      if (version.freshness !== "Stale") return { groupVersion, resources: resourcesOf(version, group) };
      return { groupVersion, resources: [], failure: new Error(`stale GroupVersion discovery: ${groupVersion}`) };
    });
  });
}

/** The declared kinds of a version, and metadata-only kinds for all others. */
export const kindsOfVersion = (version: APIVersionDiscovery, group: string): readonly AnyKind[] =>
  resourcesOf(version, group).map((resource) => declared.get(keyOf(resource)) ?? metadataKind(resource));

/** A resource without a kind is there for its subresources alone. */
const resourcesOf = ({ version, resources = [] }: APIVersionDiscovery, group: string): readonly DiscoveredResource[] =>
  resources.flatMap(({ responseKind, subresources = [], shortNames = [], categories = [], ...told }) => {
    if (!responseKind?.kind) return [];
    return {
      group,
      version,
      kind: responseKind.kind,
      plural: told.resource,
      singular: told.singularResource || responseKind.kind.toLowerCase(),
      scope: told.scope === "Namespaced" ? "Namespaced" : "Cluster",
      verbs: told.verbs,
      shortNames,
      categories,
      subresources: Object.fromEntries(subresources.map(({ subresource, verbs }) => [subresource, verbs])),
    };
  });

/** Subresources stand in the same list as what they belong to. */
function resourcesIn(all: APIResourceList["resources"], group: string, version: string): readonly DiscoveredResource[] {
  return all
    .filter(({ name }) => !name.includes("/"))
    .map(({ name: plural, singularName, kind, namespaced, verbs, shortNames = [], categories = [] }) => {
      const below = all.filter(({ name }) => name.startsWith(`${plural}/`));
      return {
        group,
        version,
        kind,
        plural,
        singular: singularName || kind.toLowerCase(),
        scope: namespaced ? "Namespaced" : "Cluster",
        verbs,
        shortNames,
        categories,
        subresources: Object.fromEntries(below.map((one) => [one.name.slice(plural.length + 1), one.verbs])),
      };
    });
}
