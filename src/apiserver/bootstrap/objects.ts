// Objects that every cluster has, and that its servers make.
import { Endpoints } from "#api/core/v1/endpoints.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { ServiceCIDR } from "#api/networking/v1/service-cidr.ts";
import { PriorityClass } from "#api/scheduling/v1/priority-class.ts";
import { equal } from "#base/collections.ts";
import { serviceNameLabel } from "#rules/services.ts";
import { formatIp } from "#schema/ip.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import { familyOf } from "../strategies/service/families.ts";
import type { AddressRange, IpFamily, ServiceNetwork } from "../strategies/service/ranges.ts";

export interface SystemObject {
  readonly kind: AnyKind;
  readonly object: DraftObject;
  /** Whether it is put right again when someone has changed it; all others are only made where they are missing. */
  readonly isKept?: boolean;
  /** What its status says from the beginning. */
  readonly condition?: Readonly<Record<"type" | "status" | "reason" | "message", string>>;
}

const name = "kubernetes";
const namespace = "default";

const wanted = (kind: AnyKind, metadata: DraftObject["metadata"], rest: object = {}): SystemObject => ({
  kind,
  object: { apiVersion: kind.apiVersion, kind: kind.kind, metadata, ...rest },
});

/** Where the system's own objects live, where everybody may read, where nodes say that they live, and where the rest goes. */
export const systemNamespaces: readonly SystemObject[] = [
  "kube-system",
  "kube-public",
  "kube-node-lease",
  namespace,
].map((name) => wanted(Namespace, { name }));

/** Above all that people may define. */
const systemPriority = 2_000_000_000;

export const systemPriorityClasses: readonly SystemObject[] = [
  wanted(
    PriorityClass,
    { name: "system-node-critical" },
    {
      value: systemPriority + 1000,
      description: "Used for system critical pods that must not be moved from their current node.",
    },
  ),
  wanted(
    PriorityClass,
    { name: "system-cluster-critical" },
    {
      value: systemPriority,
      description:
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    },
  ),
];

/** The ranges this server was given, for those who look for them in the API. */
export const defaultServiceCidr = ({ addresses }: ServiceNetwork): SystemObject =>
  wanted(ServiceCIDR, { name }, { spec: { cidrs: addresses.map(({ text }) => text) } });

export const serviceCidrName = name;
/** Under which name its readiness is noted. */
export const serviceCidrManager = "kubernetes-service-cidr-controller";

/** The status to apply to it, if it has these ranges and nobody has said yet whether it can be used. */
export function missingReadiness(
  { metadata, spec, status }: ApiObject,
  { addresses }: ServiceNetwork,
  now: number,
): DraftObject | undefined {
  const isSaid = status?.conditions?.some(
    (one: { type: string; status: string }) => one.type === "Ready" && one.status !== "Unknown",
  );
  const cidrs = addresses.map(({ text }) => text);
  if (isSaid || metadata.deletionTimestamp !== undefined || !equal(spec.cidrs, cidrs)) return undefined;
  const condition = {
    type: "Ready",
    status: "True",
    message: "Kubernetes default Service CIDR is ready",
    lastTransitionTime: timeOf(now),
  };
  return wanted(ServiceCIDR, { name }, { status: { conditions: [condition] } }).object;
}

/** The API server as pods see it, at the first address there is. */
export const kubernetesService = ({ family, first }: AddressRange, port: number): SystemObject =>
  wanted(
    Service,
    { name, namespace, labels: { component: "apiserver", provider: "kubernetes" } },
    {
      spec: {
        type: "ClusterIP",
        clusterIP: formatIp({ family: family === "IPv4" ? 4 : 6, value: first }),
        ipFamilyPolicy: "SingleStack",
        sessionAffinity: "None",
        ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: port }],
      },
    },
  );

/** Where that service leads: the servers that are alive. */
export function kubernetesEndpoints(addresses: readonly string[], port: number): readonly SystemObject[] {
  const ports = [{ name: "https", port, protocol: "TCP" }];
  const [first = ""] = addresses;
  const family: IpFamily = familyOf(first);
  return [
    wanted(
      Endpoints,
      { name, namespace, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      { subsets: [{ addresses: addresses.map((ip) => ({ ip })), ports }] },
    ),
    wanted(
      EndpointSlice,
      { name, namespace, labels: { [serviceNameLabel]: name } },
      {
        addressType: family,
        endpoints: addresses
          .filter((ip) => familyOf(ip) === family)
          .map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
        ports,
      },
    ),
  ].map((one) => ({ ...one, isKept: true }));
}
