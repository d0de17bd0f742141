// Which address a service of type LoadBalancer has.
//
// Allocations are stored only in the statuses of services, so they survive a restart. Addresses that were allocated so recently that the
// cache does not show them yet are kept in memory as well.
import { Service } from "#api/core/v1/service.ts";
import { index } from "#client/cache.ts";
import type { CacheView } from "#client/controller.ts";
import { keyOf, type ObjectKey, placeOf } from "#client/object-key.ts";
import { formatIp, parseIp } from "#schema/ip.ts";
import { familiesOf } from "../endpointslice/endpoints.ts";
import type { LoadBalancerPool } from "./pool.ts";

export const ingressOf = ({ status }: Service) => status.loadBalancer.ingress ?? [];
export const addressesIn = (service: Service): readonly string[] =>
  ingressOf(service).flatMap(({ ip }) => (ip ? [ip] : []));

const holders = index(Service, addressesIn);

/** A service with a class is another controller's. */
export const isOurs = ({ spec, metadata }: Service): boolean =>
  spec.type === "LoadBalancer" && spec.loadBalancerClass === undefined && metadata.deletionTimestamp === undefined;

export class AddressAllocation {
  readonly #pool: LoadBalancerPool;
  /** Recent allocations: service by address, until the cache shows them. */
  readonly #recent = new Map<string, string>();

  constructor(pool: LoadBalancerPool) {
    this.#pool = pool;
  }

  /** What the service should have: what it has, if that is right, else what it asks for, else what is free. Throws if there is none. */
  addressesFor(service: Service, cache: CacheView): readonly string[] {
    const pool = this.#pool;
    const { loadBalancerIP } = service.spec;
    const isFree = (address: string) => this.#isFreeFor(service, address, cache);
    if (loadBalancerIP) {
      const parsed = parseIp(loadBalancerIP);
      const address = parsed ? formatIp(parsed) : loadBalancerIP;
      if (!pool.has(address)) throw new Error(`address ${address} is not in the pool ${pool}`);
      if (!isFree(address)) throw new Error(`address ${address} is in use`);
      return [address];
    }
    const families = familiesOf(service)
      .map((family) => (family === "IPv4" ? 4 : 6))
      .filter((family) => pool.hasFamily(family));
    if (families.length === 0) throw new Error(`the pool ${pool} has no addresses of the service's families`);
    const present = addressesIn(service).filter((address) => pool.has(address) && isFree(address));
    return families.map((family) => {
      const kept = present.find((address) => parseIp(address)?.family === family);
      const address = kept ?? pool.find(family, isFree);
      if (address === undefined) throw new Error(`no IPv${family} address left in the pool ${pool}`);
      return address;
    });
  }

  /** The service is about to be written with these addresses. */
  note(service: Service, addresses: readonly string[]): void {
    for (const address of addresses) this.#recent.set(address, keyOf(service.metadata));
  }

  /** The service is gone. */
  forget(place: ObjectKey): void {
    for (const [address, key] of this.#recent) if (key === keyOf(place)) this.#recent.delete(address);
  }

  /** Whether the address is free, or belongs to this service: of two services that claim it, the older one has it. */
  #isFreeFor(service: Service, address: string, cache: CacheView): boolean {
    const key = keyOf(service.metadata);
    const recent = this.#recent.get(address);
    if (recent !== undefined && recent !== key) {
      const holder = cache.get(Service, placeOf(recent));
      const isSeen = holder !== undefined && addressesIn(holder).includes(address);
      if (holder && isOurs(holder) && !isSeen) return false;
      this.#recent.delete(address);
    }
    return cache
      .by(holders, address)
      .every((other) => keyOf(other.metadata) === key || isBefore(service, other, address));
  }
}

/** Whether a service came before another that claims the same address; one that no longer wants it does not count. */
function isBefore(service: Service, other: Service, address: string): boolean {
  if (other.spec.type !== "LoadBalancer") return true;
  const [one, two] = [service, other].map(({ metadata }) => `${metadata.creationTimestamp} ${keyOf(metadata)}`);
  return addressesIn(service).includes(address) && (one ?? "") < (two ?? "");
}
