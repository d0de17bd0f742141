import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Label } from "#schema/formats.ts";
import {
  bool,
  type Infer,
  int32,
  intOrString,
  list,
  map,
  type Problem,
  ref,
  resource,
  string,
  struct,
} from "#schema/index.ts";
import { formatLabels } from "../../label-selection.ts";
import { UncheckedCondition } from "../../meta/condition.ts";
import { checkIngressAddresses, checkPortNames, checkService, checkServicePort } from "./checks/service.ts";
import { checkServiceUpdate } from "./checks/service-update.ts";
import { externalAddresses, portList } from "./columns/service.ts";
import { ServiceProxyOptions } from "./options.ts";
import { completeServiceSpec } from "./service-defaults.ts";

export const ClientIPConfig = struct(
  "core/v1.ClientIPConfig",
  {
    timeoutSeconds: int32(
      1,
      "Seconds without traffic after which a client may be sent elsewhere; a day at most.",
    ).pointer(),
  },
  { doc: "How long a client stays with its pod." },
);
export interface ClientIPConfig extends Infer<typeof ClientIPConfig> {}

export const PortStatus = struct(
  "core/v1.PortStatus",
  {
    port: int32(1, "Port of the service.").required(),
    protocol: string(2, "Protocol of the port.").oneOf("SCTP", "TCP", "UDP").required(),
    error: string(3, "What went wrong with it, in one CamelCase word.").pointer(),
  },
  { doc: "A port of a load balancer." },
);
export interface PortStatus extends Infer<typeof PortStatus> {}

export const LoadBalancerIngress = struct(
  "core/v1.LoadBalancerIngress",
  {
    ip: string(1, "Address of the load balancer."),
    hostname: string(2, "Name of the load balancer."),
    ipMode: string(3, "Whether packets arrive for that address (VIP) or for the node (Proxy).").pointer(),
    ports: list(4, PortStatus, "Ports of the load balancer.").unchecked(),
  },
  { doc: "A place where a load balancer takes traffic." },
);
export interface LoadBalancerIngress extends Infer<typeof LoadBalancerIngress> {}

export const LoadBalancerStatus = struct(
  "core/v1.LoadBalancerStatus",
  {
    ingress: list(1, LoadBalancerIngress, "Where the load balancer takes traffic."),
  },
  { doc: "What a load balancer is." },
);
export interface LoadBalancerStatus extends Infer<typeof LoadBalancerStatus> {}

export const ServicePort = struct(
  "core/v1.ServicePort",
  {
    name: string(1, "Name of the port; needed if there are several.").is(dns1123Label),
    protocol: string(2, "Protocol of the port.").oneOf("SCTP", "TCP", "UDP").default("TCP"),
    appProtocol: string(6, "What is spoken on the port, such as http or kubernetes.io/h2c.").pointer(),
    port: int32(3, "Port of the service.").required().min(1).max(65535),
    targetPort: intOrString(4, "Port of the pods, by number or by name; the same as port when left out."),
    nodePort: int32(5, "Port of every node that leads here; chosen by the server when left out."),
  },
  {
    doc: "A port of a service, and the port of the pods behind it.",
    problemOrder: "name port protocol targetPort appProtocol",
    complete(port): void {
      port.targetPort ||= port.port;
    },
    check: (port): Iterable<Problem> => checkServicePort(port),
  },
);
export interface ServicePort extends Infer<typeof ServicePort> {}

export const SessionAffinityConfig = struct(
  "core/v1.SessionAffinityConfig",
  {
    clientIP: ref(1, ClientIPConfig, "For affinity by the client's address."),
  },
  { doc: "How clients stay with their pods." },
);
export interface SessionAffinityConfig extends Infer<typeof SessionAffinityConfig> {}

export const ServiceSpec = struct(
  "core/v1.ServiceSpec",
  {
    ports: list(1, ServicePort, "Ports of the service.").keyedBy("port", "protocol"),
    selector: map(2, "string", "Labels of the pods behind it; without, someone else keeps the endpoints.").atomic(),
    clusterIP: string(3, "Address inside the cluster; chosen by the server, or None for a service without one."),
    clusterIPs: list(18, "string", "Addresses inside the cluster, one of each family; the first is clusterIP."),
    type: string(4, "How far the service reaches: inside, on nodes, through a load balancer, or a mere name.")
      .oneOf("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
      .default("ClusterIP"),
    externalIPs: list(5, "string", "More addresses for which nodes take traffic; brought there by others."),
    sessionAffinity: string(7, "ClientIP sends a client to the same pod each time.")
      .oneOf("ClientIP", "None")
      .default("None"),
    loadBalancerIP: string(8, "Address asked of the load balancer; not all give it."),
    loadBalancerSourceRanges: list(9, "string", "Networks from which the load balancer takes traffic."),
    externalName: string(10, "The name that a service of type ExternalName stands for."),
    externalTrafficPolicy: string(
      11,
      "Local keeps traffic on the node where it came in, and the client's address.",
    ).oneOf("Cluster", "Local"),
    healthCheckNodePort: int32(12, "Port of nodes that tells load balancers whether a pod is there; for Local only."),
    publishNotReadyAddresses: bool(13, "Whether pods count even before they are ready."),
    sessionAffinityConfig: ref(14, SessionAffinityConfig, "How clients stay with their pods."),
    ipFamilies: list(19, "string", "IPv4, IPv6 or both, the first being the main one.")
      .known("IPv4", "IPv6")
      .publishedAs("", "IPv4", "IPv6"),
    ipFamilyPolicy: string(17, "Whether one family is enough.")
      .oneOf("PreferDualStack", "RequireDualStack", "SingleStack")
      .pointer(),
    allocateLoadBalancerNodePorts: bool(20, "Whether a load balancer needs node ports; true when left out.").pointer(),
    loadBalancerClass: string(21, "Which load balancer serves it; the cluster's default when left out.").pointer(),
    internalTrafficPolicy: string(22, "Local keeps traffic from inside the cluster on its node.")
      .oneOf("Cluster", "Local")
      .pointer(),
    trafficDistribution: string(23, "Which pods are liked better: PreferSameZone or PreferSameNode.").pointer(),
  },
  {
    doc: "What a service should be.",
    problemOrder: "ports *",
    check: (spec): Iterable<Problem> => checkPortNames(spec),
    complete(spec): void {
      completeServiceSpec(spec);
    },
  },
);
export interface ServiceSpec extends Infer<typeof ServiceSpec> {}

export const ServiceStatus = struct(
  "core/v1.ServiceStatus",
  {
    loadBalancer: ref(1, LoadBalancerStatus, "Where the load balancer takes traffic.").default({}),
    conditions: list(2, UncheckedCondition, "What is known about the service.").keyedBy("type"),
  },
  { doc: "What a service is." },
);
export interface ServiceStatus extends Infer<typeof ServiceStatus> {}

export const Service = resource({
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  shortNames: ["svc"],
  categories: ["all"],
  scope: "Namespaced",
  returnsDeleted: true,
  doc: "A lasting name and address for a changing set of pods.",
  fields: {
    spec: ref(2, ServiceSpec, "What the service should be.").default({}),
    status: ref(3, ServiceStatus, "What the service is.").default({}),
  },
  subresources: {
    proxy: {
      kindName: "ServiceProxyOptions",
      options: () => ServiceProxyOptions,
      path: true,
      verbs: ["create", "delete", "get", "patch", "update"],
    },
    status: true,
  },
  columns: [
    nameColumn,
    { name: "Type", doc: "How far it reaches.", cell: ({ spec }) => spec.type },
    {
      name: "Cluster-IP",
      doc: "Address inside the cluster.",
      cell: ({ spec }) => spec.clusterIPs?.[0] ?? "<none>",
    },
    {
      name: "External-IP",
      doc: "Addresses outside of the cluster.",
      cell: (service): string => externalAddresses(service),
    },
    { name: "Port(s)", doc: "Ports, with node ports after a colon.", cell: ({ spec }): string => portList(spec.ports) },
    ageColumn,
    {
      name: "Selector",
      wide: true,
      doc: "Labels of the pods behind it.",
      cell: ({ spec }) => formatLabels(spec.selector),
    },
  ],
  selectableFields: {
    "spec.clusterIP": ({ spec }) => spec.clusterIP ?? "",
    "spec.type": ({ spec }) => spec.type,
  },
  nameFormat: dns1123Label,
  complete({ spec, status }): void {
    if (spec.type !== "LoadBalancer") return;
    for (const ingress of status.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= "VIP";
  },
  *check(service, old): Iterable<Problem> {
    if (old) yield* checkServiceUpdate(service, old);
    yield* checkService(service, old);
  },
  checkStatus: (service, old): Iterable<Problem> => checkIngressAddresses(service, old),
});
export interface Service extends Infer<typeof Service> {}
