import { type Infer, inline, int32, list, ref, resource, string, struct } from "#schema/index.ts";
import { TypedLocalObjectReference } from "../../core/v1/references.ts";

export const ServiceBackendPort = struct(
  "networking/v1.ServiceBackendPort",
  {
    name: string(1),
    number: int32(2),
  },
  { atomic: true },
);
export interface ServiceBackendPort extends Infer<typeof ServiceBackendPort> {}

export const IngressServiceBackend = struct("networking/v1.IngressServiceBackend", {
  name: string(1).required(),
  port: ref(2, ServiceBackendPort).default({}),
});
export interface IngressServiceBackend extends Infer<typeof IngressServiceBackend> {}

export const IngressBackend = struct("networking/v1.IngressBackend", {
  service: ref(4, IngressServiceBackend),
  resource: ref(3, TypedLocalObjectReference),
});
export interface IngressBackend extends Infer<typeof IngressBackend> {}

export const HTTPIngressPath = struct("networking/v1.HTTPIngressPath", {
  path: string(1),
  pathType: string(3).oneOf("Exact", "ImplementationSpecific", "Prefix").pointer().required().omitEmpty(),
  backend: ref(2, IngressBackend).required(),
});
export interface HTTPIngressPath extends Infer<typeof HTTPIngressPath> {}

export const HTTPIngressRuleValue = struct("networking/v1.HTTPIngressRuleValue", {
  paths: list(1, HTTPIngressPath).required(),
});
export interface HTTPIngressRuleValue extends Infer<typeof HTTPIngressRuleValue> {}

export const IngressPortStatus = struct("networking/v1.IngressPortStatus", {
  port: int32(1).required(),
  protocol: string(2).oneOf("SCTP", "TCP", "UDP").required(),
  error: string(3).pointer(),
});
export interface IngressPortStatus extends Infer<typeof IngressPortStatus> {}

export const IngressLoadBalancerIngress = struct("networking/v1.IngressLoadBalancerIngress", {
  ip: string(1),
  hostname: string(2),
  ports: list(4, IngressPortStatus),
});
export interface IngressLoadBalancerIngress extends Infer<typeof IngressLoadBalancerIngress> {}

export const IngressLoadBalancerStatus = struct("networking/v1.IngressLoadBalancerStatus", {
  ingress: list(1, IngressLoadBalancerIngress),
});
export interface IngressLoadBalancerStatus extends Infer<typeof IngressLoadBalancerStatus> {}

export const IngressRuleValue = struct("networking/v1.IngressRuleValue", {
  http: ref(1, HTTPIngressRuleValue),
});
export interface IngressRuleValue extends Infer<typeof IngressRuleValue> {}

export const IngressRule = struct("networking/v1.IngressRule", {
  host: string(1),
  ...inline(2, IngressRuleValue),
});
export interface IngressRule extends Infer<typeof IngressRule> {}

export const IngressTLS = struct("networking/v1.IngressTLS", {
  hosts: list(1, "string"),
  secretName: string(2),
});
export interface IngressTLS extends Infer<typeof IngressTLS> {}

export const IngressSpec = struct("networking/v1.IngressSpec", {
  ingressClassName: string(4).pointer(),
  defaultBackend: ref(1, IngressBackend),
  tls: list(2, IngressTLS),
  rules: list(3, IngressRule),
});
export interface IngressSpec extends Infer<typeof IngressSpec> {}

export const IngressStatus = struct("networking/v1.IngressStatus", {
  loadBalancer: ref(1, IngressLoadBalancerStatus).default({}),
});
export interface IngressStatus extends Infer<typeof IngressStatus> {}

export const Ingress = resource({
  group: "networking.k8s.io",
  version: "v1",
  kind: "Ingress",
  plural: "ingresses",
  shortNames: ["ing"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, IngressSpec).default({}),
    status: ref(3, IngressStatus).default({}),
  },
  subresources: { status: true },
});
export interface Ingress extends Infer<typeof Ingress> {}
