// Which APIs this server serves, now. Sources put resources in and take them out while the server runs: the built-in kinds, and later custom
// resource definitions, aggregated APIs and groups of this process. Routing, discovery, OpenAPI, metrics, admission and quotas read this
// set instead of the catalog, so that none of them can differ from what is served.
import type { AnyKind } from "#schema/kind.ts";
import type { ServedResource, VirtualResource } from "../served-resource.ts";

/** One resource in one version: stored, or answered by code. */
export type ServedApi = ServedResource | VirtualResource;

export const isStored = (api: ServedApi): api is ServedResource => "registry" in api;

export class ServedApis {
  readonly #bySource = new Map<string, readonly ServedApi[]>();
  readonly #listeners = new Set<() => void>();
  /** By the last part of the address; the few that share it are told apart by the rest. */
  #byPlural: ReadonlyMap<string, readonly ServedApi[]> = new Map();
  #byKind: ReadonlyMap<AnyKind, ServedApi> = new Map();
  #byStored: ReadonlyMap<AnyKind, readonly AnyKind[]> = new Map();
  #groups: ReadonlySet<string> = new Set();
  #generation = 0;

  /** Grows with each change: who has derived something from the set knows by it whether that is still right. */
  get generation(): number {
    return this.#generation;
  }

  /** All served kinds, in the order in which their sources came. */
  get kinds(): readonly AnyKind[] {
    return [...this.#byKind.keys()];
  }

  /**
   * Says what a source serves from now on, in place of what it served before; nothing takes it out. All of it changes in one turn. Throws,
   * and changes nothing, if two would serve the same resource.
   */
  replace(source: string, apis: readonly ServedApi[]): void {
    const next = new Map(this.#bySource);
    if (apis.length > 0) next.set(source, apis);
    else next.delete(source);
    const all = [...next.values()].flat();
    refuseDoubled(all);
    this.#byPlural = Map.groupBy(all, ({ kind }) => kind.plural);
    this.#byKind = new Map(all.map((api) => [api.kind, api]));
    this.#byStored = Map.groupBy(this.#byKind.keys(), (kind) => kind.convert?.to() ?? kind);
    this.#groups = new Set(
      all.filter(({ kind }) => !kind.model.publication.isUnstructured).map(({ kind }) => kind.group),
    );
    this.#bySource.clear();
    for (const [name, itsApis] of next) this.#bySource.set(name, itsApis);
    this.#generation++;
    for (const listener of [...this.#listeners]) listener();
  }

  /** What a source serves. */
  of(source: string): readonly ServedApi[] {
    return this.#bySource.get(source) ?? [];
  }

  /** Calls the listener after each change, until what is returned is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  find(group: string, version: string, resource: string): ServedApi | undefined {
    return this.#byPlural.get(resource)?.find(({ kind }) => kind.version === version && kind.group === group);
  }

  /** The versions in which objects of a stored kind are served now; it need not be one of them. */
  versionsOf(stored: AnyKind): readonly AnyKind[] {
    return this.#byStored.get(stored) ?? [];
  }

  /** The stored resource of a kind that the caller knows to be served. */
  stored(kind: AnyKind): ServedResource {
    const api = this.#byKind.get(kind);
    if (!api || !isStored(api)) throw new Error(`${kind.apiVersion} ${kind.kind} is not served`);
    return api;
  }

  /** Whether anything that is built in is served of a group. What else there could be in it is refused by a Status, not by a page. */
  hasGroup(group: string): boolean {
    return this.#groups.has(group);
  }
}

function refuseDoubled(apis: readonly ServedApi[]): void {
  const addresses = new Set<string>();
  for (const { kind } of apis) {
    const address = `${kind.plural}.${kind.version}.${kind.group}`;
    if (addresses.has(address)) throw new Error(`${address} is served already`);
    addresses.add(address);
  }
}
