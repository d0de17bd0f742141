// Gives services of type LoadBalancer an address from a pool. Whoever routes and proxies finds it in their status.
//
// Allocations are stored only in the statuses of services, so they survive a restart. Addresses that were allocated so recently that the
// cache does not show them yet are kept in memory as well.
// Upstream: staging/src/k8s.io/cloud-provider/controllers/service/controller.go.
import { Service } from "#api/core/v1/service.ts";
import { equal } from "#base/collections.ts";
import { explain, isConflict } from "#base/errors.ts";
import { index } from "#client/cache.ts";
import { type CacheView, controller, type Reconcile, watching } from "#client/controller.ts";
import { keyOf, placeOf } from "#client/object-key.ts";
import { formatIp, parseIp } from "#schema/ip.ts";
import { familiesOf } from "../endpointslice/endpoints.ts";
import { LoadBalancerPool } from "./pool.ts";

const finalizer = "service.kubernetes.io/load-balancer-cleanup";

const ingressOf = ({ status }: Service) => status.loadBalancer.ingress ?? [];
const addressesIn = (service: Service): readonly string[] => ingressOf(service).flatMap(({ ip }) => (ip ? [ip] : []));

const holders = index(Service, addressesIn);
/** Services that want an address and have none. */
const waiting = index(Service, (service) => (isOurs(service) && addressesIn(service).length === 0 ? ["yes"] : []));

/** A service with a class is another controller's. */
const isOurs = ({ spec, metadata }: Service): boolean =>
  spec.type === "LoadBalancer" && spec.loadBalancerClass === undefined && metadata.deletionTimestamp === undefined;

const hasFinalizer = ({ metadata }: Service): boolean => metadata.finalizers?.includes(finalizer) === true;

/** `addresses` are networks or ranges, as AddressPool reads them. Without any, services are left to others. */
export function serviceLbController(addresses: readonly string[] = []) {
  const pool = new LoadBalancerPool(addresses);
  /** Recent allocations: address by service, until the cache shows them. */
  const given = new Map<string, string>();

  /** Whether the address is free, or belongs to this service: of two services that claim it, the older one has it. */
  function isFreeFor(service: Service, address: string, cache: CacheView): boolean {
    const key = keyOf(service.metadata);
    const recent = given.get(address);
    if (recent !== undefined && recent !== key) {
      const holder = cache.get(Service, placeOf(recent));
      const isSeen = holder !== undefined && addressesIn(holder).includes(address);
      if (holder && isOurs(holder) && !isSeen) return false;
      given.delete(address);
    }
    return cache
      .by(holders, address)
      .every((other) => keyOf(other.metadata) === key || isBefore(service, other, address));
  }

  /** What the service should have: what it has, if that is right, else what it asks for, else what is free. Throws if there is none. */
  function addressesFor(service: Service, cache: CacheView): readonly string[] {
    const { loadBalancerIP } = service.spec;
    const isFree = (address: string) => isFreeFor(service, address, cache);
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

  async function ensure(service: Service, { client, cache, event }: Reconcile): Promise<void> {
    const wanted = addressesFor(service, cache);
    const ingress = wanted.map((ip) => ({ ip, ipMode: "VIP" }));
    if (equal(ingressOf(service), ingress) && hasFinalizer(service)) return;
    event("Normal", "EnsuringLoadBalancer", "Ensuring load balancer");
    for (const ip of wanted) given.set(ip, keyOf(service.metadata));
    const { metadata } = service;
    const finalizers = hasFinalizer(service) ? metadata.finalizers : [...(metadata.finalizers ?? []), finalizer];
    const status = { ...service.status, loadBalancer: { ingress } };
    await client.update(Service, { ...service, metadata: { ...metadata, finalizers }, status }, "status");
    event("Normal", "EnsuredLoadBalancer", "Ensured load balancer");
  }

  return controller({
    name: "service",
    for: Service,
    // One after the other: each must know what the last was given.
    workers: 1,
    watches: [
      watching(
        Service,
        (service, cache) =>
          addressesIn(service).length > 0 ? cache.by(waiting, "yes").map(({ metadata }) => metadata) : [],
        (old, service) => !equal(ingressOf(old), ingressOf(service)),
      ),
    ],

    async reconcile(service, context) {
      try {
        if (isOurs(service)) await (addresses.length > 0 ? ensure(service, context) : undefined);
        else if (hasFinalizer(service) && service.spec.loadBalancerClass === undefined) await release(service, context);
      } catch (error) {
        if (!isConflict(error)) {
          const what = isOurs(service) ? "ensure" : "delete";
          const message = `Error syncing load balancer: failed to ${what} load balancer: ${explain(error)}`;
          context.event("Warning", "SyncLoadBalancerFailed", message);
        }
        throw error;
      }
    },
    async gone(place) {
      for (const [address, key] of given) if (key === keyOf(place)) given.delete(address);
    },
  });
}

async function release(service: Service, { client, event }: Reconcile): Promise<void> {
  event("Normal", "DeletingLoadBalancer", "Deleting load balancer");
  const { metadata, status } = service;
  const left = metadata.finalizers?.filter((one) => one !== finalizer);
  const released = { ...service, metadata: { ...metadata, finalizers: left }, status: { ...status, loadBalancer: {} } };
  await client.update(Service, released, "status");
  event("Normal", "DeletedLoadBalancer", "Deleted load balancer");
}

/** Whether a service came before another that claims the same address; one that no longer wants it does not count. */
function isBefore(service: Service, other: Service, address: string): boolean {
  if (other.spec.type !== "LoadBalancer") return true;
  const [one, two] = [service, other].map(({ metadata }) => `${metadata.creationTimestamp} ${keyOf(metadata)}`);
  return addressesIn(service).includes(address) && (one ?? "") < (two ?? "");
}
