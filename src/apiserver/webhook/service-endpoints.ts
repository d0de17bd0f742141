// Where a service is reached: at one of its ready endpoints, so that it can be called from where no proxy carries traffic for services.
// Follows apiserver/pkg/util/proxy/proxy.go upstream (ResolveEndpoint).
import type { Service } from "#api/core/v1/service.ts";
import { Service as ServiceKind } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Random } from "#base/random.ts";
import { serviceKeyOf } from "#rules/services.ts";
import { notFound, serviceUnavailable } from "#wire/status.ts";
import type { CacheOf, WatchCache } from "../watch-cache.ts";

export interface ServiceEndpoint {
  readonly address: string;
  readonly port: number;
}

/** Finds endpoints from memory. Slices are indexed by their service, and the index follows the watch cache. */
export class ServiceEndpoints {
  readonly #services: WatchCache;
  readonly #random: Random;
  readonly #slices = new Map<string, Map<string, EndpointSlice>>();

  constructor(cacheOf: CacheOf, random: Random) {
    this.#services = cacheOf(ServiceKind);
    this.#random = random;
    this.#follow(cacheOf(EndpointSlice));
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#services.get(`${this.#services.prefix}${namespace}/${name}`)?.object as Service | undefined;
  }

  /** One that takes connections for a port of the service, of its first address family if there is one. Throws what upstream says. */
  resolve(namespace: string, name: string, port: number): ServiceEndpoint {
    const service = this.service(namespace, name);
    // Upstream names the resource without its group and its plural here.
    if (!service) throw notFound({ group: "", resource: "service" }, name);
    const { type, ports = [], ipFamilies = [], externalName = "" } = service.spec;
    if (type === "ExternalName") return { address: externalName, port };
    const served = ports.find((one) => one.port === port);
    if (!served) throw serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
    const slices = [...(this.#slices.get(`${namespace}/${name}`)?.values() ?? [])];
    const preferred = slices.filter(({ addressType }) => addressType === ipFamilies[0]);
    const others = slices.filter(({ addressType }) => addressType !== ipFamilies[0]);
    const found = this.#anyOf(preferred, served.name ?? "") ?? this.#anyOf(others, served.name ?? "");
    if (!found) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
    return found;
  }

  #anyOf(slices: readonly EndpointSlice[], portName: string): ServiceEndpoint | undefined {
    const found = slices.flatMap(({ ports, endpoints }) => {
      const port = (ports ?? []).find((one) => (one.name ?? "") === portName)?.port;
      if (port === undefined) return [];
      return endpoints
        .filter(({ conditions }) => conditions?.ready !== false)
        .map(({ addresses }) => ({ address: addresses[0] as string, port }));
    });
    return found.length === 0 ? undefined : found[this.#random.below(found.length)];
  }

  #follow(cache: WatchCache): void {
    const fill = () => {
      this.#slices.clear();
      for (const [key, { object }] of cache.range(cache.prefix)) this.#put(key, object as unknown as EndpointSlice);
    };
    cache.listen({
      reset: fill,
      events: (events) => {
        for (const { previous, current } of events) {
          if (previous) this.#drop(previous.key, previous.object as unknown as EndpointSlice);
          if (current) this.#put(current.key, current.object as unknown as EndpointSlice);
        }
      },
    });
    fill();
  }

  #put(key: string, slice: EndpointSlice): void {
    const service = serviceKeyOf(slice);
    if (service === undefined) return;
    const slices = this.#slices.get(service) ?? new Map<string, EndpointSlice>();
    this.#slices.set(service, slices.set(key, slice));
  }

  #drop(key: string, slice: EndpointSlice): void {
    const service = serviceKeyOf(slice) ?? "";
    const slices = this.#slices.get(service);
    slices?.delete(key);
    if (slices?.size === 0) this.#slices.delete(service);
  }
}
