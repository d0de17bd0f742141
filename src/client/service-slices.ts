// Which slices hold the endpoints of a service: one index for all parts of a process that ask.
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { serviceKeyOf } from "#rules/services.ts";
import { type Cache, index } from "./cache.ts";

const slicesByService = index(EndpointSlice, (slice) => {
  const key = serviceKeyOf(slice);
  return key === undefined ? [] : [key];
});

export const slicesOf = (slices: Cache<EndpointSlice>, serviceKey: string): readonly EndpointSlice[] =>
  slices.by(slicesByService.values, serviceKey);
