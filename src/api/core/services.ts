// What several parts must know of services, and have to agree on.
import type { Service } from "./v1/service.ts";

/** On an EndpointSlice: whose endpoints it has. */
export const serviceNameLabel = "kubernetes.io/service-name";

/** The addresses of the service itself; a headless one has none. */
export const clusterAddresses = ({ clusterIP = "", clusterIPs = [] }: Service["spec"]): readonly string[] =>
  (clusterIPs.length > 0 ? clusterIPs : [clusterIP]).filter((address) => address !== "" && address !== "None");
