import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { keyPrefix, StoreFollower } from "../store-follower.ts";
import { StoredForm } from "../stored.ts";
import { testServer } from "../testing.ts";
import type { WatchCache } from "../watch-cache.ts";
import { ServiceEndpoints } from "./service-endpoints.ts";

const slice = (name: string, addressType: string, endpoints: readonly object[], service = "hook") => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name, labels: { "kubernetes.io/service-name": service } },
  addressType,
  ports: [{ name: "web", port: 9443 }],
  endpoints,
});
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

test("a service is reached at a ready endpoint of its port, as slices come and go", async () => {
  await using server = await testServer();
  const follower = new StoreFollower({ store: server.store, clock: server.clock, log: silentLog });
  const kinds = [Service, EndpointSlice];
  const caches = new Map(kinds.map((kind) => [kind.kind, follower.add(keyPrefix(kind), new StoredForm(kind))]));
  const endpoints = new ServiceEndpoints(({ kind }) => caches.get(kind) as WatchCache, seededRandom(1));
  const stop = new AbortController();
  const following = follower.run(stop.signal);
  const refusal = (name: string, port: number) => {
    try {
      return JSON.stringify(endpoints.resolve("default", name, port));
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.equal(refusal("hook", 443), 'service "hook" not found');
  const spec = { ports: [{ name: "web", port: 443 }] };
  await server.call("POST", "/api/v1/namespaces/default/services", { metadata: { name: "hook" }, spec });
  await follower.current(stop.signal);
  assert.equal(refusal("hook", 444), 'no service port 444 found for service "hook"');
  assert.equal(refusal("hook", 443), 'no endpoints available for service "hook"');

  const dead = { addresses: ["10.0.0.1"], conditions: { ready: false } };
  await server.call("POST", slices, slice("six", "IPv6", [{ addresses: ["fd00::1"] }]));
  await server.call("POST", slices, slice("other", "IPv4", [{ addresses: ["10.0.0.9"] }], "other"));
  await follower.current(stop.signal);
  assert.deepEqual(endpoints.resolve("default", "hook", 443), { address: "fd00::1", port: 9443 });
  await server.call("POST", slices, slice("four", "IPv4", [dead, { addresses: ["10.0.0.2"] }]));
  await follower.current(stop.signal);
  assert.deepEqual(endpoints.resolve("default", "hook", 443), { address: "10.0.0.2", port: 9443 });
  for (const name of ["four", "six"]) await server.call("DELETE", `${slices}/${name}`);
  await follower.current(stop.signal);
  assert.equal(refusal("hook", 443), 'no endpoints available for service "hook"');
  stop.abort();
  await following;
});
