// Which slices hold the endpoints of a service: one index for all parts of a process that ask.
import { serviceNameLabel } from "#api/core/services.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { type Cache, index } from "./cache.ts";

/** The key of the service whose endpoints a slice has: `default/web`; undefined for one that is nobody's. */
export function serviceKeyOf({ metadata: { namespace, labels } }: EndpointSlice): string | undefined {
  const name = labels?.[serviceNameLabel];
  return name ? `${namespace}/${name}` : undefined;
}

const slicesByService = index(EndpointSlice, (slice) => {
  const key = serviceKeyOf(slice);
  return key === undefined ? [] : [key];
});

export const slicesOf = (slices: Cache<EndpointSlice>, serviceKey: string): readonly EndpointSlice[] =>
  slices.by(slicesByService.values, serviceKey);
