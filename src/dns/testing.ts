// A small cluster for tests of names.
import { Namespace } from "#api/core/v1/namespace.ts";
import { Service } from "#api/core/v1/service.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { Cache } from "#client/cache.ts";
import { world } from "#client/testing.ts";
import { type Directory, directoryOf } from "./directory.ts";

/** The service web in default, and an external name out. */
export function smallDirectory(): Directory {
  const w = world();
  const caches = {
    namespaces: new Cache<Namespace>(),
    services: new Cache<Service>(),
    slices: new Cache<EndpointSlice>(),
  };
  caches.namespaces.set("default", w.have(Namespace, { metadata: { name: "default" } }));
  const service = (name: string, spec: object) =>
    caches.services.set(`default/${name}`, w.have(Service, { metadata: { name, namespace: "default" }, spec }));
  service("web", { clusterIP: "10.96.0.7", clusterIPs: ["10.96.0.7"], ports: [{ name: "http", port: 80 }] });
  service("out", { type: "ExternalName", externalName: "elsewhere.example" });
  service("round", { type: "ExternalName", externalName: "round.default.svc.cluster.local" });
  return directoryOf(caches);
}
