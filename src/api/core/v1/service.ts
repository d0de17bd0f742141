import { bool, type Infer, int32, intOrString, list, map, ref, resource, string, struct } from "#schema/index.ts";
import { Condition } from "../../meta/condition.ts";
import { ServiceProxyOptions } from "./options.ts";

export const ClientIPConfig = struct("core/v1.ClientIPConfig", {
  timeoutSeconds: int32(1).pointer(),
});
export interface ClientIPConfig extends Infer<typeof ClientIPConfig> {}

export const PortStatus = struct("core/v1.PortStatus", {
  port: int32(1).required(),
  protocol: string(2).oneOf("SCTP", "TCP", "UDP").required(),
  error: string(3).pointer(),
});
export interface PortStatus extends Infer<typeof PortStatus> {}

export const LoadBalancerIngress = struct("core/v1.LoadBalancerIngress", {
  ip: string(1),
  hostname: string(2),
  ipMode: string(3).pointer(),
  ports: list(4, PortStatus),
});
export interface LoadBalancerIngress extends Infer<typeof LoadBalancerIngress> {}

export const LoadBalancerStatus = struct("core/v1.LoadBalancerStatus", {
  ingress: list(1, LoadBalancerIngress),
});
export interface LoadBalancerStatus extends Infer<typeof LoadBalancerStatus> {}

export const ServicePort = struct("core/v1.ServicePort", {
  name: string(1),
  protocol: string(2).oneOf("SCTP", "TCP", "UDP").default("TCP"),
  appProtocol: string(6).pointer(),
  port: int32(3).required(),
  targetPort: intOrString(4),
  nodePort: int32(5),
});
export interface ServicePort extends Infer<typeof ServicePort> {}

export const SessionAffinityConfig = struct("core/v1.SessionAffinityConfig", {
  clientIP: ref(1, ClientIPConfig),
});
export interface SessionAffinityConfig extends Infer<typeof SessionAffinityConfig> {}

export const ServiceSpec = struct("core/v1.ServiceSpec", {
  ports: list(1, ServicePort).keyedBy("port", "protocol"),
  selector: map(2, "string").atomic(),
  clusterIP: string(3),
  clusterIPs: list(18, "string"),
  type: string(4).oneOf("ClusterIP", "ExternalName", "LoadBalancer", "NodePort").default("ClusterIP"),
  externalIPs: list(5, "string"),
  sessionAffinity: string(7).oneOf("ClientIP", "None").default("None"),
  loadBalancerIP: string(8),
  loadBalancerSourceRanges: list(9, "string"),
  externalName: string(10),
  externalTrafficPolicy: string(11).oneOf("Cluster", "Local"),
  healthCheckNodePort: int32(12),
  publishNotReadyAddresses: bool(13),
  sessionAffinityConfig: ref(14, SessionAffinityConfig),
  ipFamilies: list(19, "string").oneOf("IPv4", "IPv6"),
  ipFamilyPolicy: string(17).oneOf("PreferDualStack", "RequireDualStack", "SingleStack").pointer(),
  allocateLoadBalancerNodePorts: bool(20).pointer(),
  loadBalancerClass: string(21).pointer(),
  internalTrafficPolicy: string(22).oneOf("Cluster", "Local").pointer(),
  trafficDistribution: string(23).pointer(),
});
export interface ServiceSpec extends Infer<typeof ServiceSpec> {}

export const ServiceStatus = struct("core/v1.ServiceStatus", {
  loadBalancer: ref(1, LoadBalancerStatus).default({}),
  conditions: list(2, Condition).keyedBy("type"),
});
export interface ServiceStatus extends Infer<typeof ServiceStatus> {}

export const Service = resource({
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  returnsDeleted: true,
  shortNames: ["svc"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, ServiceSpec).default({}),
    status: ref(3, ServiceStatus).default({}),
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
});
export interface Service extends Infer<typeof Service> {}
