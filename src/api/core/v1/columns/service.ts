import type { Service, ServicePort } from "../service.ts";

/** Where the service is reached from outside of the cluster. */
export function externalAddresses({ spec, status }: Service): string {
  const { type, externalIPs = [] } = spec;
  if (type === "ExternalName") return spec.externalName ?? "";
  if (type !== "LoadBalancer") return externalIPs.join(",") || "<none>";
  const balanced = (status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "");
  const addresses = [...new Set(balanced.filter((address) => address !== ""))].toSorted();
  return [...addresses, ...externalIPs].join(",") || "<pending>";
}

/** `80/TCP,443:30443/TCP`. */
export const portList = (ports: readonly ServicePort[] = []): string =>
  ports
    .map(({ port, nodePort = 0, protocol }) =>
      nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
    )
    .join(",") || "<none>";
