// The rules of ingresses and network policies that take more than one field to say.
// Upstream: pkg/apis/networking/validation/validation.go.
import {
  cidr,
  dns1123Label,
  dns1123Subdomain,
  pathSegment,
  portName,
  portNumber,
  wildcardDns1123Subdomain,
} from "#schema/formats.ts";
import { forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import { parseCidr, parseIp } from "#schema/ip.ts";
import { malformed, under } from "../../core/v1/checks/problems.ts";
import type { HTTPIngressPath, IngressBackend } from "./ingress.ts";
import type { IngressClassParametersReference } from "./ingress-class.ts";
import type { IPBlock, NetworkPolicyPeer, NetworkPolicyPort } from "./network-policy.ts";

const notAnAddress = "must be a DNS name, not an IP address";

/** A DNS name whose first label may be a star. */
export const hostName = (host: string): readonly string[] =>
  host.includes("*") ? wildcardDns1123Subdomain(host) : dns1123Subdomain(host);

export const hostOfRule = (host: string): readonly string[] => [
  ...(parseIp(host) ? [notAnAddress] : []),
  ...hostName(host),
];

export const hostOfBalancer = (host: string): readonly string[] => [
  ...dns1123Subdomain(host),
  ...(parseIp(host) ? [notAnAddress] : []),
];

const badSequences = ["//", "/./", "/../", "%2f", "%2F"];
const badEndings = ["/..", "/."];

const pathTypes: readonly string[] = ["Exact", "ImplementationSpecific", "Prefix"];

export function* checkPath({ path = "", pathType, backend }: HTTPIngressPath): Iterable<Problem> {
  if (pathType === undefined) return; // which is a problem of its own
  const exact = pathType === "Exact" || pathType === "Prefix";
  if (!pathTypes.includes(pathType)) yield notSupported("pathType", pathTypes);
  else if ((exact || path !== "") && !path.startsWith("/")) yield invalid("path", "must be an absolute path", path);
  if (exact) {
    for (const bad of badSequences) if (path.includes(bad)) yield invalid("path", `must not contain '${bad}'`);
    for (const bad of badEndings) if (path.endsWith(bad)) yield invalid("path", `cannot end with '${bad}'`);
  }
  yield* under("backend", checkBackend(backend));
}

export function* checkBackend({ service, resource }: IngressBackend): Iterable<Problem> {
  if (service && resource) yield invalid("", "cannot set both resource and service backends", "");
  else if (resource) yield* checkTypedReference("resource", resource);
  else if (!service) yield invalid("", "resource or service backend is required", "");
  else {
    if (service.name === "") yield required("service.name");
    else for (const detail of dns1123Label(service.name)) yield invalid("service.name", detail);
    const { name, number } = service.port;
    if (name && number) yield invalid("", "cannot set both port name & port number", "");
    else if (name) for (const detail of portName(name)) yield invalid("service.port.name", detail);
    else if (number) {
      const detail = portNumber(number);
      if (detail) yield invalid("service.port.number", detail);
    } else yield required("", "port name or number is required");
  }
}

interface TypedReference {
  readonly apiGroup?: string | undefined;
  readonly kind: string;
  readonly name: string;
}

function* checkTypedReference(path: string, { apiGroup, kind, name }: TypedReference): Iterable<Problem> {
  if (apiGroup !== undefined)
    for (const detail of dns1123Subdomain(apiGroup)) yield invalid(`${path}.apiGroup`, detail);
  if (kind === "") yield required(`${path}.kind`);
  else yield* malformed(`${path}.kind`, kind, pathSegment);
  if (name === "") yield required(`${path}.name`);
  else yield* malformed(`${path}.name`, name, pathSegment);
}

export function* checkParameters(parameters: IngressClassParametersReference): Iterable<Problem> {
  const { apiGroup, scope, namespace } = parameters;
  if (apiGroup !== undefined) for (const detail of dns1123Subdomain(apiGroup)) yield invalid("apiGroup", detail);
  if (scope === "Namespace" && namespace === undefined)
    yield required("namespace", "`parameters.scope` is set to 'Namespace'");
  if (scope === "Namespace" && namespace !== undefined)
    for (const detail of dns1123Label(namespace)) yield invalid("namespace", detail);
  if (scope === "Cluster" && namespace !== undefined)
    yield forbidden("namespace", "`parameters.scope` is set to 'Cluster'");
}

export function* checkPolicyPort({ port, endPort }: NetworkPolicyPort): Iterable<Problem> {
  if (port === undefined) {
    if (endPort !== undefined) yield invalid("endPort", "may not be specified when `port` is not specified");
  } else if (typeof port === "string") {
    if (endPort !== undefined) yield invalid("endPort", "may not be specified when `port` is non-numeric");
    for (const detail of portName(port)) yield invalid("port", detail);
  } else {
    const detail = portNumber(port);
    if (detail) yield invalid("port", detail);
    if (endPort === undefined) return;
    if (endPort < port) yield invalid("endPort", "must be greater than or equal to `port`", port);
    const endDetail = portNumber(endPort);
    if (endDetail) yield invalid("endPort", endDetail);
  }
}

export function* checkPeer({ podSelector, namespaceSelector, ipBlock }: NetworkPolicyPeer): Iterable<Problem> {
  if (!podSelector && !namespaceSelector && !ipBlock) yield required("", "must specify a peer");
  else if (ipBlock && (podSelector || namespaceSelector))
    yield forbidden("", "may not specify both ipBlock and another peer");
}

/** The exceptions lie within the block and are smaller. */
export function* checkBlock({ cidr: whole, except = [] }: IPBlock): Iterable<Problem> {
  const block = parseCidr(whole);
  if (!block) return;
  for (const [i, text] of except.entries()) {
    const part = parseCidr(text);
    if (!part) continue;
    const bits = BigInt((block.address.family === 4 ? 32 : 128) - block.length);
    const inside = part.address.family === block.address.family && part.network >> bits === block.network >> bits;
    if (!inside || block.length >= part.length) yield invalid(`except[${i}]`, "must be a strict subset of `cidr`");
  }
}

/** One range, or one of each family. A second may be added to the first; nothing else changes. */
export function* checkServiceCidrs(cidrs: readonly string[], old: readonly string[] | undefined): Iterable<Problem> {
  if (old && old.length === cidrs.length) {
    for (const [i, one] of cidrs.entries()) if (one !== old[i]) yield invalid(`cidrs[${i}]`, "field is immutable");
    return;
  }
  if (old && !(old.length === 1 && cidrs.length === 2)) {
    yield invalid("cidrs", "field is immutable");
    return;
  }
  if (old && cidrs[0] !== old[0]) yield invalid("cidrs[0]", "field is immutable");
  if (cidrs.length === 0) yield required("cidrs", "at least one CIDR required");
  if (cidrs.length > 2) yield invalid("cidrs", "may only hold up to 2 values");
  if (cidrs.length === 0 || cidrs.length > 2) return;
  for (const [i, one] of cidrs.entries()) for (const detail of cidr(one)) yield invalid(`cidrs[${i}]`, detail);
  const [first, second] = cidrs.map((one) => parseCidr(one)?.address.family);
  if (cidrs.length === 2 && first !== undefined && first === second)
    yield invalid("cidrs", "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64");
}
