import type { Discovery } from "#client/discovery.ts";
import type { RemoteDiscovery } from "../aggregation/remote-discovery.ts";
import type { ServedApis } from "./served-apis.ts";

/** Discovery for parts of this process: without HTTP, and with notifications of changes. */
export const discoveryOf = (apis: ServedApis, remote: RemoteDiscovery): Discovery => ({
  discover: async () => {
    const foreign = remote.versions.map(({ group, version, discovery }) => ({
      name: group === "" ? version : `${group}/${version}`,
      isStale: discovery.freshness === "Stale",
    }));
    const names = new Set(foreign.map(({ name }) => name));
    const stale = foreign.filter(({ isStale }) => isStale);
    return {
      kinds: [...apis.kinds.filter(({ apiVersion }) => !names.has(apiVersion)), ...remote.kinds],
      failures: new Map(stale.map(({ name }) => [name, new Error(`stale GroupVersion discovery: ${name}`)])),
    };
  },
  onChange(listener) {
    const stops = [apis.subscribe(listener), remote.subscribe(listener)];
    return () => {
      for (const stop of stops) stop();
    };
  },
});
