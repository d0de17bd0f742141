import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Subdomain, ipAnyForm } from "#schema/formats.ts";
import {
  type Infer,
  inline,
  int32,
  invalid,
  list,
  type Problem,
  ref,
  resource,
  string,
  struct,
} from "#schema/index.ts";
import { sentEmpty } from "#schema/sent-empty.ts";
import { malformed, under } from "../../core/v1/checks/problems.ts";
import { TypedLocalObjectReference } from "../../core/v1/references.ts";
import { checkBackend, checkPath, hostName, hostOfBalancer, hostOfRule } from "./checks.ts";

export const ServiceBackendPort = struct(
  "networking/v1.ServiceBackendPort",
  {
    name: string(1, "Name of the port."),
    number: int32(2, "Number of the port."),
  },
  { atomic: true },
);
export interface ServiceBackendPort extends Infer<typeof ServiceBackendPort> {}

export const IngressServiceBackend = struct("networking/v1.IngressServiceBackend", {
  name: string(1, "Name of the service, in the namespace of the ingress.").required(),
  port: ref(2, ServiceBackendPort, "Port of the service, by name or by number.").default({}),
});
export interface IngressServiceBackend extends Infer<typeof IngressServiceBackend> {}

export const IngressBackend = struct("networking/v1.IngressBackend", {
  service: ref(4, IngressServiceBackend, "A service that takes the requests."),
  resource: ref(
    3,
    TypedLocalObjectReference,
    "Another object that takes the requests, of a kind the controller knows.",
  ),
});
export interface IngressBackend extends Infer<typeof IngressBackend> {}

export const HTTPIngressPath = struct(
  "networking/v1.HTTPIngressPath",
  {
    path: string(1, "The path of the request to match."),
    pathType: string(3, "How to match it: Exact, Prefix by whole parts, or as the controller likes.")
      .known("Exact", "ImplementationSpecific", "Prefix")
      .pointer()
      .required("pathType must be specified")
      .omitEmpty(),
    backend: ref(2, IngressBackend, "Where the requests go.").required(),
  },
  {
    *check(path): Iterable<Problem> {
      yield* checkPath(path);
    },
  },
);
export interface HTTPIngressPath extends Infer<typeof HTTPIngressPath> {}

export const HTTPIngressRuleValue = struct("networking/v1.HTTPIngressRuleValue", {
  paths: list(1, HTTPIngressPath, "Where requests go, by their path.").nonEmpty().required(),
});
export interface HTTPIngressRuleValue extends Infer<typeof HTTPIngressRuleValue> {}

export const IngressPortStatus = struct("networking/v1.IngressPortStatus", {
  port: int32(1, "Number of the port.").required(),
  protocol: string(2, "Protocol of the port.").oneOf("SCTP", "TCP", "UDP").required(),
  error: string(3, "What is wrong with the port, in one word.").pointer(),
});
export interface IngressPortStatus extends Infer<typeof IngressPortStatus> {}

export const IngressLoadBalancerIngress = struct("networking/v1.IngressLoadBalancerIngress", {
  ip: string(1, "An address of the load balancer.").is(ipAnyForm),
  hostname: string(2, "A name of the load balancer.").is(hostOfBalancer),
  ports: list(4, IngressPortStatus, "How its ports are doing.").unchecked(),
});
export interface IngressLoadBalancerIngress extends Infer<typeof IngressLoadBalancerIngress> {}

export const IngressLoadBalancerStatus = struct("networking/v1.IngressLoadBalancerStatus", {
  ingress: list(1, IngressLoadBalancerIngress, "Where the load balancer is reached."),
});
export interface IngressLoadBalancerStatus extends Infer<typeof IngressLoadBalancerStatus> {}

export const IngressRuleValue = struct("networking/v1.IngressRuleValue", {
  http: ref(1, HTTPIngressRuleValue, "Where requests go, by their path."),
});
export interface IngressRuleValue extends Infer<typeof IngressRuleValue> {}

export const IngressRule = struct("networking/v1.IngressRule", {
  host: string(1, "The host of the request to match; its first label may be *. All hosts if empty.").is(hostOfRule),
  ...inline(2, IngressRuleValue),
});
export interface IngressRule extends Infer<typeof IngressRule> {}

export const IngressTLS = struct("networking/v1.IngressTLS", {
  hosts: list(1, "string", "Hosts that the certificate is for."),
  secretName: string(2, "The secret that holds certificate and key."),
});
export interface IngressTLS extends Infer<typeof IngressTLS> {}

export const IngressSpec = struct(
  "networking/v1.IngressSpec",
  {
    ingressClassName: string(4, "Which class of ingress this is, and so which controller serves it.").pointer(),
    defaultBackend: ref(1, IngressBackend, "Where requests go that no rule matches."),
    tls: list(2, IngressTLS, "Certificates, by host."),
    rules: list(3, IngressRule, "Where requests go, by their host."),
  },
  {
    *check(spec): Iterable<Problem> {
      const { rules = [], defaultBackend, tls = [], ingressClassName } = spec;
      if (rules.length === 0 && !defaultBackend)
        yield invalid("", "either `defaultBackend` or `rules` must be specified", sentEmpty(spec, "rules") ?? null);
      if (defaultBackend) yield* under("defaultBackend", checkBackend(defaultBackend));
      for (const [i, { hosts = [], secretName }] of tls.entries()) {
        for (const [j, host] of hosts.entries()) yield* malformed(`tls[${i}].hosts[${j}]`, host, hostName);
        if (secretName) yield* malformed(`tls[${i}].secretName`, secretName, dns1123Subdomain);
      }
      if (ingressClassName !== undefined)
        for (const detail of dns1123Subdomain(ingressClassName)) yield invalid("ingressClassName", detail);
    },
  },
);
export interface IngressSpec extends Infer<typeof IngressSpec> {}

export const IngressStatus = struct("networking/v1.IngressStatus", {
  loadBalancer: ref(1, IngressLoadBalancerStatus, "The load balancer that takes the requests.").default({}),
});
export interface IngressStatus extends Infer<typeof IngressStatus> {}

export const Ingress = resource({
  group: "networking.k8s.io",
  version: "v1",
  kind: "Ingress",
  plural: "ingresses",
  shortNames: ["ing"],
  scope: "Namespaced",
  doc: "Routes HTTP requests from outside to services, by host and path.",
  fields: {
    spec: ref(2, IngressSpec, "What is wanted.").default({}),
    status: ref(3, IngressStatus, "What is there.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    { name: "Class", doc: "The class that serves it.", cell: ({ spec }) => spec.ingressClassName ?? "<none>" },
    { name: "Hosts", doc: "Hosts with rules.", cell: ({ spec }) => formatHosts(spec.rules) },
    {
      name: "Address",
      doc: "Where the load balancer is reached.",
      cell: ({ status }) =>
        [...new Set((status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || ""))]
          .filter(Boolean)
          .toSorted()
          .join(","),
    },
    {
      name: "Ports",
      doc: "Ports that take requests.",
      cell: ({ spec }) => ((spec.tls ?? []).length > 0 ? "80, 443" : "80"),
    },
    ageColumn,
  ],
  *check({ metadata, spec: { ingressClassName } }, old) {
    const annotated = metadata.annotations?.["kubernetes.io/ingress.class"];
    if (!old && annotated !== undefined && ingressClassName !== undefined && annotated !== ingressClassName)
      yield invalid(
        "annotations.kubernetes.io/ingress.class",
        "must match `ingressClassName` when both are specified",
        annotated,
      );
  },
});
export interface Ingress extends Infer<typeof Ingress> {}

function formatHosts(rules: readonly IngressRule[] = []): string {
  const hosts = rules.map(({ host }) => host ?? "").filter((host) => host !== "");
  if (hosts.length === 0) return "*";
  const shown = hosts.slice(0, 3).join(",");
  return hosts.length > 3 ? `${shown} + ${rules.length - 3} more...` : shown;
}
