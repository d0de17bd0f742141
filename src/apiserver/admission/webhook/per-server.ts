import type { AdmissionServer } from "../server.ts";

/** Makes something once for each server that a plugin runs in: plugins are made before the server is. */
export function perServer<T>(make: (server: AdmissionServer) => T): (server: AdmissionServer) => T {
  const known = new WeakMap<AdmissionServer, { readonly made: T }>();
  return (server) => {
    const present = known.get(server) ?? { made: make(server) };
    known.set(server, present);
    return present.made;
  };
}
