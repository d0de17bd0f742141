// The canonical form of an Endpoints object's subsets: addresses that have exactly the same ports are together, in order.
// Upstream: pkg/api/v1/endpoints/util.go.
import type { EndpointAddress, EndpointPort, EndpointSubset } from "#api/core/v1/endpoints.ts";

interface PortAddresses {
  readonly address: EndpointAddress;
  /** Readiness by port. A port that is listed both as ready and as not ready is not ready. */
  readonly ready: Map<string, boolean>;
}

/** Says the same with as few subsets as it takes. */
export function repackSubsets(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  const ports = new Map<string, EndpointPort>();
  const addresses = new Map<string, PortAddresses>();
  for (const subset of subsets) {
    const keys = (subset.ports ?? []).map((port) => {
      ports.set(portKey(port), port);
      return portKey(port);
    });
    const all = [
      ...(subset.addresses ?? []).map((address) => ({ address, isReady: true })),
      ...(subset.notReadyAddresses ?? []).map((address) => ({ address, isReady: false })),
    ];
    for (const { address, isReady } of all) {
      const id = addressKey(address);
      const seen = addresses.get(id) ?? { address, ready: new Map<string, boolean>() };
      addresses.set(id, seen);
      for (const key of keys.length > 0 ? keys : [noPort])
        seen.ready.set(key, isReady && seen.ready.get(key) !== false);
    }
  }
  return byPorts([...addresses.values()].toSorted(byAddress), ports).toSorted(bySubset);
}

/** Stands for having no ports at all. */
const noPort = "";

/** Ports are in one subset if they have the same addresses, each of which is as ready for the one as for the other. */
function byPorts(addresses: readonly PortAddresses[], ports: ReadonlyMap<string, EndpointPort>): EndpointSubset[] {
  const keys = new Set(addresses.flatMap(({ ready }) => [...ready.keys()]));
  const readiness = (key: string) => addresses.map(({ ready }) => String(ready.get(key))).join();
  return [...Map.groupBy(keys, readiness).values()].map((together) => {
    const chosen = (isReady: boolean) =>
      addresses.flatMap(({ address, ready }) => (ready.get(together[0] ?? noPort) === isReady ? [address] : []));
    const [ready, notReady] = [chosen(true), chosen(false)];
    const list = together.flatMap((key) => ports.get(key) ?? []).toSorted(byPort);
    return {
      ...(ready.length > 0 && { addresses: ready }),
      ...(notReady.length > 0 && { notReadyAddresses: notReady }),
      ...(list.length > 0 && { ports: list }),
    };
  });
}

const portKey = ({ name = "", port, protocol, appProtocol = "-" }: EndpointPort): string =>
  `${name} ${port} ${protocol} ${appProtocol}`;

/** Pods of the host's network share its address, and are still several. */
const addressKey = ({ ip, targetRef }: EndpointAddress): string => `${ip} ${targetRef?.uid ?? ""}`;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function byAddress({ address: a }: PortAddresses, { address: b }: PortAddresses): number {
  return compare(a.ip, b.ip) || compare(a.targetRef?.uid ?? "", b.targetRef?.uid ?? "");
}

const byPort = (a: EndpointPort, b: EndpointPort): number => compare(portKey(a), portKey(b));

const bySubset = (a: EndpointSubset, b: EndpointSubset): number =>
  compare((a.ports ?? []).map(portKey).join(), (b.ports ?? []).map(portKey).join());
