// The labels by which slices are found, and what they take over from what they are made for.
// Upstream: staging/src/k8s.io/endpointslice/utils.go.
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { equal } from "#base/collections.ts";
import { index } from "#client/cache.ts";
import { type Watching, watching } from "#client/controller.ts";
import { serviceNameLabel } from "#rules/services.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import type { Labels } from "#schema/selector.ts";
import { headlessLabel } from "../services.ts";

export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
const reserved = [serviceNameLabel, managedByLabel, headlessLabel];

/** Slices by the service they are for and by who manages them. */
const slicesByService = index(EndpointSlice, ({ metadata: { namespace, labels = {} } }) => {
  const service = labels[serviceNameLabel];
  return service ? [`${namespace}/${service} ${labels[managedByLabel] ?? ""}`] : [];
});

/** The slices that `manager` keeps for a service, found without looking at others. */
export const slicesOf = (namespace: string | undefined, service: string, manager: string) =>
  ({ index: slicesByService, value: `${namespace}/${service} ${manager}` }) as const;

/** Wakes the service whose slice was changed, by whoever it was. */
export const watchingSlicesOf = (manager: string): Watching =>
  watching(EndpointSlice, ({ metadata: { namespace, labels = {} } }) => {
    const name = labels[serviceNameLabel];
    return name && labels[managedByLabel] === manager ? [{ namespace, name }] : [];
  });

export const withoutReserved = (labels: Labels = {}): Labels =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !reserved.includes(key)));

/** Whether the labels that a slice has taken over are those of its service. */
export const mirrorsLabels = (slice: Labels | undefined, service: Labels | undefined): boolean =>
  equal(withoutReserved(slice), withoutReserved(service));

/** What the names of slices begin with. */
export const slicePrefix = (service: string): string =>
  dns1123Subdomain(`${service}-a`).length === 0 ? `${service}-` : service;
