// The objects by which pods find the cluster's DNS: a service whose address is in the resolv.conf of every pod.
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { SystemObject } from "#apiserver/bootstrap/objects.ts";
import type { AddressRange } from "#apiserver/strategies/service/ranges.ts";
import { serviceNameLabel } from "#rules/services.ts";
import { formatIp } from "#schema/ip.ts";

/** Of the addresses of services, as everybody expects it. */
const tenth = 9n;
/** Not 53: other servers of the machine listen there on all addresses. */
export const dnsPort = 10_053;

/** The address of the cluster's DNS, among those of services. */
export const dnsAddressIn = ({ family, first }: AddressRange): string =>
  formatIp({ family: family === "IPv4" ? 4 : 6, value: first + tenth });

/** The service `kube-dns`, and where it leads before there are pods: to this process, at the address at which nodes reach it. */
export function dnsObjects(services: AddressRange, address: string): readonly SystemObject[] {
  const name = "kube-dns";
  const metadata = { name, namespace: "kube-system" };
  const ports = ["UDP", "TCP"].map((protocol) => ({ name: protocol === "UDP" ? "dns" : "dns-tcp", protocol }));
  return [
    {
      kind: Service,
      object: {
        apiVersion: Service.apiVersion,
        kind: Service.kind,
        metadata: {
          ...metadata,
          labels: {
            "k8s-app": name,
            "kubernetes.io/cluster-service": "true",
            "kubernetes.io/name": "CoreDNS",
          },
        },
        spec: {
          type: "ClusterIP",
          clusterIP: dnsAddressIn(services),
          selector: { "k8s-app": name },
          ports: ports.map((one) => ({ ...one, port: 53, targetPort: 53 })),
        },
      },
    },
    {
      kind: EndpointSlice,
      object: {
        apiVersion: EndpointSlice.apiVersion,
        kind: EndpointSlice.kind,
        metadata: {
          ...metadata,
          labels: { [serviceNameLabel]: name, "endpointslice.kubernetes.io/managed-by": "knarr" },
        },
        addressType: services.family,
        endpoints: [{ addresses: [address], conditions: { ready: true } }],
        ports: ports.map((one) => ({ ...one, port: dnsPort })),
      },
    },
  ];
}
