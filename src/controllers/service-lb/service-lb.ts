// Gives services of type LoadBalancer an address from a pool. Whoever routes and proxies finds it in their status.
// Upstream: staging/src/k8s.io/cloud-provider/controllers/service/controller.go.
import { Service } from "#api/core/v1/service.ts";
import { equal } from "#base/collections.ts";
import { explain, isConflict } from "#base/errors.ts";
import { index } from "#client/cache.ts";
import { controller, type Reconcile, watching } from "#client/controller.ts";
import { AddressAllocation, addressesIn, ingressOf, isOurs } from "./allocation.ts";
import { LoadBalancerPool } from "./pool.ts";

const finalizer = "service.kubernetes.io/load-balancer-cleanup";

/** Services that want an address and have none. */
const waiting = index(Service, (service) => (isOurs(service) && addressesIn(service).length === 0 ? ["yes"] : []));
const watchingAddresses = watching(
  Service,
  (service, cache) => (addressesIn(service).length > 0 ? cache.by(waiting, "yes").map(({ metadata }) => metadata) : []),
  (old, service) => !equal(ingressOf(old), ingressOf(service)),
);

const hasFinalizer = ({ metadata }: Service): boolean => metadata.finalizers?.includes(finalizer) === true;

/** `addresses` are networks or ranges, as LoadBalancerPool reads them. Without any, services are left to others. */
export function serviceLbController(addresses: readonly string[] = []) {
  const allocation = new AddressAllocation(new LoadBalancerPool(addresses));
  return controller({
    name: "service",
    for: Service,
    // One after the other: each must know what the last was given.
    workers: 1,
    watches: [watchingAddresses],

    async reconcile(service, context) {
      try {
        if (isOurs(service)) await (addresses.length > 0 ? ensure(service, allocation, context) : undefined);
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
      allocation.forget(place);
    },
  });
}

async function ensure(service: Service, allocation: AddressAllocation, context: Reconcile): Promise<void> {
  const { client, cache, event } = context;
  const wanted = allocation.addressesFor(service, cache);
  const ingress = wanted.map((ip) => ({ ip, ipMode: "VIP" }));
  if (equal(ingressOf(service), ingress) && hasFinalizer(service)) return;
  event("Normal", "EnsuringLoadBalancer", "Ensuring load balancer");
  allocation.note(service, wanted);
  const { metadata } = service;
  const finalizers = hasFinalizer(service) ? metadata.finalizers : [...(metadata.finalizers ?? []), finalizer];
  const status = { ...service.status, loadBalancer: { ingress } };
  await client.update(Service, { ...service, metadata: { ...metadata, finalizers }, status }, "status");
  event("Normal", "EnsuredLoadBalancer", "Ensured load balancer");
}

async function release(service: Service, { client, event }: Reconcile): Promise<void> {
  event("Normal", "DeletingLoadBalancer", "Deleting load balancer");
  const { metadata, status } = service;
  const left = metadata.finalizers?.filter((one) => one !== finalizer);
  const released = { ...service, metadata: { ...metadata, finalizers: left }, status: { ...status, loadBalancer: {} } };
  await client.update(Service, released, "status");
  event("Normal", "DeletedLoadBalancer", "Deleted load balancer");
}
