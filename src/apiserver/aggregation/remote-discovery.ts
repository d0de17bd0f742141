// What aggregated servers say they serve. Read anew when an APIService changes and every minute. One that does not answer is told of as
// stale, without its resources, so that clients know that something is missing.
// Follows kube-aggregator/pkg/apiserver/handler_discovery.go upstream.
import { APIVersionDiscovery } from "#api/apidiscovery/v2/discovery.ts";
import { APIResourceList } from "#api/meta/discovery.ts";
import type { Clock } from "#base/clock.ts";
import { isObject } from "#base/is-object.ts";
import type { Log } from "#base/log.ts";
import { kindsOfVersion } from "#client/server-discovery.ts";
import { decodeValue } from "#schema/decode.ts";
import type { ForeignVersion } from "#schema/discovery.ts";
import { decodeUtf8, parseJson } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import { resourcesTogether } from "./api-resources.ts";
import { KeyedWork } from "./keyed-work.ts";
import { pathOfApi, type RemoteApi, type RemoteApis } from "./remote-apis.ts";
import type { RemoteCalls } from "./remote-calls.ts";

const lookAgainMs = 60_000;
/** All that a server serves. */
const maxBytes = 8 * 1024 * 1024;
const jsonType = "application/json";
const aggregatedType = `${jsonType};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,${jsonType};g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,${jsonType}`;

export interface RemoteDiscoveryOptions {
  readonly apis: RemoteApis;
  readonly calls: RemoteCalls;
  readonly clock: Clock;
  readonly log: Log;
}

type Resources = NonNullable<APIVersionDiscovery["resources"]>;

interface RemoteAnswer {
  readonly foreign: ForeignVersion;
  readonly text: string;
  readonly kinds: readonly AnyKind[];
}

export class RemoteDiscovery {
  readonly #options: RemoteDiscoveryOptions;
  readonly #work: KeyedWork;
  /** By the name of the APIService. */
  readonly #answers = new Map<string, RemoteAnswer>();
  readonly #listeners = new Set<() => void>();
  #generation = 0;

  constructor(options: RemoteDiscoveryOptions) {
    const { clock, log, apis } = options;
    this.#options = options;
    this.#work = new KeyedWork({
      name: "discovery of aggregated APIs",
      clock,
      log,
      backoff: { firstMs: 500, maxMs: lookAgainMs },
      work: (name, signal) => this.#look(name, signal),
    });
    apis.subscribe((name) => {
      if (!apis.byName(name)) this.#forget(name);
      this.#work.add(name);
    });
  }

  /** Grows with each change. */
  get generation(): number {
    return this.#generation;
  }

  /** What there is to tell of all aggregated versions; those that were not looked at yet are stale. */
  get versions(): readonly ForeignVersion[] {
    return this.#options.apis.all.map((api) => this.#answers.get(api.name)?.foreign ?? staleVersion(api));
  }

  /** The kinds of those that answer, by their metadata alone. */
  get kinds(): readonly AnyKind[] {
    return this.#options.apis.all.flatMap(({ name }) => this.#answers.get(name)?.kinds ?? []);
  }

  /** Calls the listener after each change, until what is returned is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#work.run(() => this.#options.apis.all.map(({ name }) => name), signal);
  }

  async #look(name: string, signal: AbortSignal): Promise<number | undefined> {
    const api = this.#options.apis.byName(name);
    if (!api) return undefined;
    try {
      const resources = (await this.#together(api, signal)) ?? (await this.#alone(api, signal));
      this.#keep(api, { version: api.version, resources: resources.map(withKinds), freshness: "Current" });
      return lookAgainMs;
    } catch (error) {
      signal.throwIfAborted();
      this.#keep(api, staleVersion(api).discovery);
      throw error;
    }
  }

  /** From a server that tells everything at once; undefined if this one does not. */
  async #together(api: RemoteApi, signal: AbortSignal): Promise<Resources | undefined> {
    const asked = { accept: aggregatedType, maxBytes, signal };
    const { code, contentType, bytes } = await this.#options.calls.read(api, "/apis", asked);
    if (code === 503) throw new Error(`service ${nameOf(api)} returned non-success response code: ${code}`);
    if (code !== 200 || !contentType.includes("as=APIGroupDiscoveryList")) return undefined;
    const { value } = parseJson(decodeUtf8(bytes));
    const groups = listIn(value, "items").filter((item) => isObject(item.metadata) && item.metadata.name === api.group);
    const found = groups.flatMap((group) => listIn(group, "versions")).find(({ version }) => version === api.version);
    if (!found) return [];
    return (decodeValue(APIVersionDiscovery, found).object as unknown as APIVersionDiscovery).resources ?? [];
  }

  async #alone(api: RemoteApi, signal: AbortSignal): Promise<Resources> {
    const path = pathOfApi(api);
    const { code, bytes } = await this.#options.calls.read(api, path, { accept: jsonType, maxBytes, signal });
    const text = decodeUtf8(bytes);
    if (code !== 200) throw new Error(`failed to download legacy discovery for ${path}: ${code} ${text.slice(0, 200)}`);
    const list = decodeValue(APIResourceList, parseJson(text).value).object as unknown as APIResourceList;
    return resourcesTogether(list.resources ?? []);
  }

  #keep(api: RemoteApi, discovery: ForeignVersion["discovery"]): void {
    if (this.#options.apis.byName(api.name)?.service === undefined) return; // gone meanwhile
    const text = JSON.stringify(discovery);
    if (this.#answers.get(api.name)?.text === text) return;
    const { group, version } = api;
    const kinds = discovery.freshness === "Current" ? kindsOfVersion(discovery as APIVersionDiscovery, group) : [];
    this.#answers.set(api.name, { foreign: { group, version, discovery }, text, kinds });
    this.#changed();
  }

  #forget(name: string): void {
    if (this.#answers.delete(name)) this.#changed();
  }

  #changed(): void {
    this.#generation++;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Some clients do not bear a resource without a kind, as upstream found. */
const withKinds = (resource: Resources[number]): Resources[number] => ({
  ...resource,
  responseKind: resource.responseKind ?? noKind,
  ...(resource.subresources && {
    subresources: resource.subresources.map((one) => ({ ...one, responseKind: one.responseKind ?? noKind })),
  }),
});
const noKind = { group: "", version: "", kind: "" };

const staleVersion = ({ group, version }: RemoteApi): ForeignVersion => ({
  group,
  version,
  discovery: { version, freshness: "Stale" },
});

const nameOf = ({ service: { namespace, name, port } }: RemoteApi): string => `${namespace}/${name}:${port}`;

const listIn = (value: unknown, name: string): readonly Readonly<Record<string, unknown>>[] => {
  const list = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return Array.isArray(list) ? list.filter(isObject) : [];
};
