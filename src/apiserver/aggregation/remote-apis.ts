// Which versions of groups other servers answer for, as the APIService objects say now, and in which order all groups come.
import { APIService } from "#api/apiregistration/v1/api-service.ts";
import { groupPriorities } from "#api/group-priorities.ts";
import { fromBase64 } from "#base/base64.ts";
import type { GroupPriority } from "#schema/discovery.ts";
import type { ApiObject } from "#schema/object.ts";
import type { WatchCache } from "../watch-cache.ts";

/** A version of a group that another server answers for. */
export interface RemoteApi {
  /** Of the APIService: `v1.example.com`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  /** In PEM, what the server's certificate is checked against; without it the authorities of the machine. */
  readonly ca: string | undefined;
  /** Whether any certificate is believed. */
  readonly trustsAny: boolean;
  readonly isAvailable: boolean;
}

/** The prefix of all paths of the API. */
export const pathOfApi = ({ group, version }: Pick<RemoteApi, "group" | "version">): string =>
  group === "" ? `/api/${version}` : `/apis/${group}/${version}`;

export class RemoteApis {
  readonly #cache: WatchCache;
  readonly #listeners = new Set<(name: string) => void>();
  #generation = 0;
  /** Made when it is asked for: APIServices come in bursts, with the definitions of an operator. */
  #current: State | undefined;

  constructor(cache: WatchCache) {
    this.#cache = cache;
    cache.listen({
      reset: () => {
        this.#changed();
        for (const { name } of this.all) this.#tell(name);
      },
      events: (events) => {
        this.#changed();
        for (const { current, previous } of events) this.#tell((current ?? previous)?.object.metadata.name ?? "");
      },
    });
  }

  /** Grows with each change. */
  get generation(): number {
    return this.#generation;
  }

  get all(): readonly RemoteApi[] {
    return this.#state().all;
  }

  /** By group: those that are built in, and what the objects say of these and of others. */
  get priorities(): Readonly<Record<string, GroupPriority>> {
    return this.#state().priorities;
  }

  /** Undefined for what this server answers itself; nobody else answers for the objects that say who answers. */
  find(group: string, version: string): RemoteApi | undefined {
    const { all, byName } = this.#state();
    if (all.length === 0 || group === APIService.group) return undefined;
    return byName.get(`${version}.${group}`);
  }

  /** Whether there is an object of this name, whoever answers. */
  isRegistered(name: string): boolean {
    return this.#cache.get(`${this.#cache.prefix}${name}`) !== undefined;
  }

  byName(name: string): RemoteApi | undefined {
    return this.#state().byName.get(name);
  }

  /** Calls the listener with the name of each APIService that has changed, local ones included, until what is returned is called. */
  subscribe(listener: (name: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #tell(name: string): void {
    for (const listener of [...this.#listeners]) listener(name);
  }

  #changed(): void {
    this.#generation++;
    this.#current = undefined;
  }

  #state(): State {
    if (this.#current) return this.#current;
    const services = this.#cache.list(this.#cache.prefix).map(({ object }) => object as ApiObject & APIService);
    const all = services.filter(({ spec }) => spec.service).map(remoteApi);
    const byName = new Map(all.map((api) => [api.name, api]));
    this.#current = { all, byName, priorities: prioritiesOf(services) };
    return this.#current;
  }
}

interface State {
  readonly all: readonly RemoteApi[];
  readonly byName: ReadonlyMap<string, RemoteApi>;
  readonly priorities: Readonly<Record<string, GroupPriority>>;
}

function remoteApi({ metadata, spec, status }: APIService): RemoteApi {
  const { service, group = "", version = "", caBundle, insecureSkipTLSVerify = false } = spec;
  const bundle = caBundle ? fromBase64(caBundle) : undefined;
  return {
    name: metadata.name,
    group,
    version,
    service: { namespace: service?.namespace ?? "", name: service?.name ?? "", port: service?.port ?? 443 },
    ca: bundle && new TextDecoder().decode(bundle),
    trustsAny: insecureSkipTLSVerify,
    isAvailable: (status.conditions ?? []).some(({ type, status: is }) => type === "Available" && is === "True"),
  };
}

/** A group stands where the highest of its versions puts it. */
function prioritiesOf(services: readonly APIService[]): Readonly<Record<string, GroupPriority>> {
  const priorities = new Map<string, { group: number; readonly versions: Map<string, number> }>();
  for (const { spec } of services) {
    const { group = "", version = "", groupPriorityMinimum, versionPriority } = spec;
    const known = priorities.get(group) ?? { group: groupPriorityMinimum, versions: new Map() };
    known.group = Math.max(known.group, groupPriorityMinimum);
    known.versions.set(version, versionPriority);
    priorities.set(group, known);
  }
  const told = [...priorities].map(([name, { group, versions }]): [string, GroupPriority] => [
    name,
    { group, versions: Object.fromEntries(versions) },
  ]);
  return Object.fromEntries([...Object.entries(groupPriorities), ...told]);
}
