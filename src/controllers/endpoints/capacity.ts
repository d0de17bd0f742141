// An Endpoints object is sent whole to every watcher, so it may not grow without bound.
// Upstream: pkg/controller/endpoint/endpoints_controller.go.
import type { EndpointSubset } from "#api/core/v1/endpoints.ts";

export const mostAddresses = 1000;

export interface CapacityResult {
  readonly subsets: readonly EndpointSubset[];
  readonly isTruncated: boolean;
}

/** At most so many addresses, ready ones before others, from each subset in proportion to what it has. */
export function truncateSubsets(subsets: readonly EndpointSubset[], most = mostAddresses): CapacityResult {
  const ready = sum(subsets.map(({ addresses = [] }) => addresses.length));
  const notReady = sum(subsets.map(({ notReadyAddresses = [] }) => notReadyAddresses.length));
  if (ready + notReady <= most) return { subsets, isTruncated: false };
  const cutsReady = ready > most;
  const [room, total] = cutsReady ? [most, ready] : [most - ready, notReady];
  let left = room;
  const share = <T>(list: readonly T[]): readonly T[] => {
    const kept = list.slice(0, Math.min(left, Math.ceil((list.length / total) * room)));
    left -= kept.length;
    return kept;
  };
  const cut = subsets.map(({ addresses = [], notReadyAddresses = [], ...others }) => {
    const [some, rest] = cutsReady ? [share(addresses), []] : [addresses, share(notReadyAddresses)];
    return {
      ...(some.length > 0 && { addresses: some }),
      ...(rest.length > 0 && { notReadyAddresses: rest }),
      ...others,
    };
  });
  return { subsets: cut, isTruncated: true };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
