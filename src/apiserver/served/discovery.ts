import type { Discovery } from "#client/discovery.ts";
import type { ServedApis } from "./served-apis.ts";

/** What is served, for parts of this process: they need not ask over HTTP, and are told of changes. */
export const discoveryOf = (apis: ServedApis): Discovery => ({
  discover: async () => ({ kinds: apis.kinds, failures: new Map() }),
  onChange: (listener) => apis.subscribe(listener),
});
