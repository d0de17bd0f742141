// Sets the condition Ready of ServiceCIDRs, and protects by a finalizer those whose addresses are still in use.
// Upstream: pkg/controller/servicecidrs/servicecidrs_controller.go.

import { IPAddress } from "#api/networking/v1/ip-address.ts";
import { ServiceCIDR } from "#api/networking/v1/service-cidr.ts";
import { isNotFound } from "#base/errors.ts";
import { type CacheView, controller, type Reconcile, watching } from "#client/controller.ts";
import { conditionIn } from "#rules/conditions.ts";
import { addressAllocator, containsNetwork, givesOut, managedByLabel, networksOverlap } from "#rules/service-ranges.ts";
import { millisOf, timeOf } from "#schema/time.ts";

const fieldManager = "service-cidr-controller";
const finalizer = "networking.k8s.io/service-cidr-finalizer";
/** How long servers may still allocate from a range that is being deleted, because their caches lag. */
const deletionGraceMs = 10_000;

const rangesOf = ({ spec }: ServiceCIDR): readonly string[] => spec.cidrs ?? [];
const isOurs = ({ metadata }: IPAddress): boolean => metadata.labels?.[managedByLabel] === addressAllocator;
const containing = (address: string, cache: CacheView): readonly ServiceCIDR[] =>
  cache.list(ServiceCIDR).filter((one) => rangesOf(one).some((range) => givesOut(range, address)));

export const serviceCidrController = controller({
  name: "service-cidr",
  queue: "servicecidrs",
  for: ServiceCIDR,
  watches: [
    // Another range that comes or goes may cover the addresses of this one.
    watching(ServiceCIDR, (one, cache) =>
      cache
        .list(ServiceCIDR)
        .filter((other) => rangesOf(one).some((a) => rangesOf(other).some((b) => networksOverlap(a, b))))
        .map(({ metadata }) => metadata),
    ),
    watching(IPAddress, (address, cache) =>
      isOurs(address) ? containing(address.metadata.name, cache).map(({ metadata }) => metadata) : [],
    ),
  ],

  async reconcile(one, context) {
    const { deletionTimestamp, finalizers = [] } = one.metadata;
    if (deletionTimestamp === undefined) {
      if (!finalizers.includes(finalizer)) await patch(one, { finalizers: [finalizer] }, context);
      await tell(one, { status: "True", reason: "", message: "Kubernetes Service CIDR is ready" }, context);
      return undefined;
    }
    if (isNeeded(one, context.cache)) {
      const message =
        "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR";
      await tell(one, { status: "False", reason: "Terminating", message }, context);
      return undefined;
    }
    const left = millisOf(deletionTimestamp) + deletionGraceMs - context.clock.now();
    if (left > 0) return { afterMs: left };
    if (finalizers.includes(finalizer))
      await patch(one, { "$deleteFromPrimitiveList/finalizers": [finalizer] }, context);
    return undefined;
  },
});

/** Whether an address is in use that no other range has. */
function isNeeded(one: ServiceCIDR, cache: CacheView): boolean {
  const others = cache.list(ServiceCIDR).filter(({ metadata }) => metadata.name !== one.metadata.name);
  const isCovered = (range: string) =>
    others.some((other) => rangesOf(other).some((larger) => containsNetwork(larger, range)));
  if (rangesOf(one).every(isCovered)) return false;
  return cache.list(IPAddress).some((address) => {
    const ranges = containing(address.metadata.name, cache);
    return isOurs(address) && ranges.length === 1 && ranges[0]?.metadata.name === one.metadata.name;
  });
}

async function patch({ metadata: { name } }: ServiceCIDR, metadata: object, { client }: Reconcile): Promise<void> {
  try {
    await client.patch(ServiceCIDR, { name }, "strategic", { metadata });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

interface Readiness {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

async function tell(one: ServiceCIDR, told: Readiness, { client, clock, event }: Reconcile): Promise<void> {
  const { name } = one.metadata;
  const present = conditionIn(one.status.conditions, "Ready");
  const { status, reason, message } = told;
  if (present?.status === status && (present.reason ?? "") === reason && present.message === message) return;
  const { apiVersion, kind } = ServiceCIDR;
  const condition = { type: "Ready", ...told, lastTransitionTime: timeOf(clock.now()) };
  const applied = { apiVersion, kind, metadata: { name }, status: { conditions: [condition] } };
  try {
    await client.patch(ServiceCIDR, { name }, "apply", applied, { subresource: "status", fieldManager, force: true });
  } catch (error) {
    if (status === "True")
      event("Warning", "KubernetesServiceCIDRError", "The ServiceCIDR Status can not be set to Ready=True");
    throw error;
  }
}
