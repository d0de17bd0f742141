// Services.
// Upstream: pkg/apis/core/validation/validation.go.
import { dns1123Subdomain, portNumber, qualifiedName } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import { parseIp } from "#schema/ip.ts";
import { labelProblems } from "#schema/validate-metadata.ts";
import type { Service, ServicePort, ServiceSpec } from "../service.ts";
import { isHeadless, isReachedFromOutside, needsHealthCheck } from "../service-defaults.ts";
import { address, isDualStack, network, reachable } from "./addresses.ts";
import { checkPort } from "./probes.ts";
import { each, malformed, under } from "./problems.ts";

const hintsAnnotation = "service.kubernetes.io/topology-aware-hints";
const modeAnnotation = "service.kubernetes.io/topology-mode";
const rangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges";

export function* checkService(service: Service, old: Service | undefined): Iterable<Problem> {
  const { annotations = {} } = service.metadata;
  const [hints, mode] = [annotations[hintsAnnotation], annotations[modeAnnotation]];
  if (hints !== undefined && mode !== undefined && hints !== mode)
    yield invalid(
      `metadata.annotations[${modeAnnotation}]`,
      `must match annotations[${hintsAnnotation}] when both are specified`,
      mode,
    );
  yield* under("spec", checkSpec(service.spec, old?.spec));
  yield* checkSourceRanges(service, old);
  yield* under("spec", checkLoadBalancer(service.spec));
  if (service.spec.type === "LoadBalancer" && service.spec.allocateLoadBalancerNodePorts === undefined)
    yield required("allocateLoadBalancerNodePorts");
  yield* under("spec", checkTraffic(service.spec));
}

function* checkSpec(spec: ServiceSpec, old: ServiceSpec | undefined): Iterable<Problem> {
  if (!spec.ports?.length && !isHeadless(spec) && spec.type !== "ExternalName") yield required("ports");
  yield* checkType(spec);
  yield* checkPorts(spec);
  yield* labelProblems(spec.selector, "selector");
  yield* checkAffinity(spec);
  yield* checkClusterAddresses(spec, old);
  const external = new Set(old?.externalIPs);
  for (const [at, ip] of each("externalIPs", spec.externalIPs)) {
    const bad = [...address(at, ip, external)];
    yield* bad.length > 0 ? bad : reachable(at, ip);
  }
}

function* checkType(spec: ServiceSpec): Iterable<Problem> {
  if ((spec.type === "LoadBalancer" || spec.type === "NodePort") && isHeadless(spec))
    yield invalid("clusterIPs[0]", `may not be set to 'None' for ${spec.type} services`);
  if (spec.type !== "ExternalName") return;
  const why = "may not be set for ExternalName services";
  if (spec.clusterIPs?.length) yield forbidden("clusterIPs", why);
  if (spec.ipFamilies?.length) yield forbidden("ipFamilies", why);
  if (spec.ipFamilyPolicy !== undefined) yield forbidden("ipFamilyPolicy", why);
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  if (name === "") yield required("externalName");
  else yield* malformed("externalName", name, dns1123Subdomain);
}

export function* checkServicePort({ targetPort, appProtocol }: ServicePort): Iterable<Problem> {
  yield* checkPort(targetPort ?? 0, "targetPort");
  if (appProtocol !== undefined) yield* malformed("appProtocol", appProtocol, qualifiedName);
}

/** If there are several ports, they are told apart by their names. */
export function* checkPortNames({ ports = [] }: ServiceSpec): Iterable<Problem> {
  const names = new Set<string>();
  for (const [at, { name = "" }] of each("ports", ports)) {
    if (name === "" && ports.length > 1) yield required(`${at}.name`);
    if (name !== "" && names.has(name)) yield duplicate(`${at}.name`);
    names.add(name);
  }
}

function* checkPorts({ ports = [], type }: ServiceSpec): Iterable<Problem> {
  const nodePorts = new Set<string>();
  const numbers = new Set<string>();
  for (const [at, { port, nodePort = 0, protocol }] of each("ports", ports)) {
    if (type === "ClusterIP" && nodePort !== 0)
      yield forbidden(`${at}.nodePort`, "may not be used when `type` is 'ClusterIP'");
    if (nodePort !== 0 && nodePorts.has(`${protocol}/${nodePort}`)) yield duplicate(`${at}.nodePort`);
    nodePorts.add(`${protocol}/${nodePort}`);
    if (numbers.has(`${protocol}/${port}`))
      yield duplicate(at, { Name: "", Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 });
    numbers.add(`${protocol}/${port}`);
  }
}

const mostAffinitySeconds = 24 * 3600;

function* checkAffinity({ sessionAffinity, sessionAffinityConfig: config }: ServiceSpec): Iterable<Problem> {
  const at = "sessionAffinityConfig";
  if (sessionAffinity === "None" && config) yield forbidden(at, "must not be set when session affinity is None");
  if (sessionAffinity !== "ClientIP") return;
  const why = "when session affinity type is ClientIP";
  const seconds = config?.clientIP?.timeoutSeconds;
  if (!config) yield required(at, why);
  else if (!config.clientIP) yield required(`${at}.clientIP`, why);
  else if (seconds === undefined) yield required(`${at}.clientIP.timeoutSeconds`, why);
  else if (seconds <= 0 || seconds > mostAffinitySeconds)
    yield invalid(`${at}.clientIP.timeoutSeconds`, `must be greater than 0 and less than ${mostAffinitySeconds}`);
}

/** The addresses inside the cluster and their families. */
export function* checkClusterAddresses(spec: ServiceSpec, old: ServiceSpec | undefined): Iterable<Problem> {
  const { type, clusterIP = "", clusterIPs = [], ipFamilies = [] } = spec;
  if (type === "ExternalName") return;
  if (clusterIP === "") {
    if (clusterIPs.length > 0) yield invalid("clusterIPs", "must be empty when `clusterIP` is not specified");
  } else if (clusterIPs.length === 0) yield required("clusterIPs");
  else if (clusterIPs[0] !== clusterIP) yield invalid("clusterIPs", "first value must match `clusterIP`");

  const families = new Set<string>();
  for (const [at, family] of each("ipFamilies", ipFamilies)) {
    if (family !== "IPv4" && family !== "IPv6") yield notSupported(at, ["IPv4", "IPv6"], family);
    if (families.has(family)) yield duplicate(at);
    families.add(family);
  }

  let isSound = true;
  const stored = new Set(old?.clusterIPs);
  for (const [index, ip] of clusterIPs.entries()) {
    if (index === 0 && ip === "None") {
      if (clusterIPs.length > 1) {
        isSound = false;
        yield invalid("clusterIPs", "'None' must be the first and only value");
      }
      continue;
    }
    const bad = [...address(`clusterIPs[${index}]`, ip, stored)];
    isSound &&= bad.length === 0;
    yield* bad;
  }
  if (clusterIPs.length > 2) yield invalid("clusterIPs", "may only hold up to 2 values");
  if (!isSound) return;
  if (clusterIPs.length > 1 && !isDualStack(clusterIPs.slice(0, 2)))
    yield invalid("clusterIPs", "may specify no more than one IP for each IP family");
  if (isHeadless(spec)) return;
  for (const [index, ip] of clusterIPs.entries()) {
    const family = ipFamilies[index];
    if (family && family !== `IPv${parseIp(ip)?.family}`)
      yield invalid(`clusterIPs[${index}]`, `expected an ${family} value as indicated by \`ipFamilies[${index}]\``);
  }
}

const onlyBalanced = "may only be used when `type` is 'LoadBalancer'";

function* checkLoadBalancer(spec: ServiceSpec): Iterable<Problem> {
  if (spec.allocateLoadBalancerNodePorts !== undefined && spec.type !== "LoadBalancer")
    yield forbidden("allocateLoadBalancerNodePorts", onlyBalanced);
  if (spec.loadBalancerClass === undefined) return;
  if (spec.type === "LoadBalancer") yield* malformed("loadBalancerClass", spec.loadBalancerClass, qualifiedName);
  else yield forbidden("loadBalancerClass", onlyBalanced);
}

/** Ranges may be padded with spaces, and once were said in an annotation. */
function* checkSourceRanges({ metadata, spec }: Service, old: Service | undefined): Iterable<Problem> {
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const annotated = metadata.annotations?.[rangesAnnotation];
  const at = ranges.length > 0 ? "spec.LoadBalancerSourceRanges" : `metadata.annotations[${rangesAnnotation}]`;
  if (ranges.length === 0 && annotated === undefined) return;
  if (spec.type !== "LoadBalancer") yield forbidden(at, onlyBalanced);
  const stored = new Set(old?.spec.loadBalancerSourceRanges?.map((range) => range.trim()));
  for (const [index, range] of ranges.entries()) yield* network(`${at}[${index}]`, range.trim(), stored);
  if (ranges.length > 0 || old?.metadata.annotations?.[rangesAnnotation] === annotated) return;
  for (const range of (annotated ?? "").trim() === "" ? [] : (annotated ?? "").split(","))
    yield* network(at, range.trim());
}

const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];

function* checkTraffic(spec: ServiceSpec): Iterable<Problem> {
  if (!isReachedFromOutside(spec)) {
    if (spec.externalTrafficPolicy)
      yield invalid("externalTrafficPolicy", "may only be set for externally-accessible services");
  } else if (!spec.externalTrafficPolicy) yield required("externalTrafficPolicy");
  const port = spec.healthCheckNodePort ?? 0;
  if (!needsHealthCheck(spec)) {
    if (port !== 0)
      yield invalid(
        "healthCheckNodePort",
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      );
  } else if (port === 0) yield required("healthCheckNodePort");
  else {
    const message = portNumber(port);
    if (message) yield invalid("healthCheckNodePort", message);
  }
  if (spec.internalTrafficPolicy === undefined && spec.type !== "ExternalName") yield required("internalTrafficPolicy");
  if (spec.trafficDistribution !== undefined && !distributions.includes(spec.trafficDistribution))
    yield notSupported("trafficDistribution", distributions);
}

/** What a load balancer reports in the status. */
export function* checkIngressAddresses({ spec, status }: Service, old: Service): Iterable<Problem> {
  const path = "status.loadBalancer.ingress";
  const ingress = status.loadBalancer.ingress ?? [];
  if (spec.type !== "LoadBalancer" && ingress.length > 0)
    return yield forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'");
  const stored = new Set(old.status.loadBalancer.ingress?.map(({ ip = "" }) => ip));
  for (const [at, { ip = "", ipMode, hostname = "" }] of each(path, ingress)) {
    if (ip !== "") yield* address(`${at}.ip`, ip, stored);
    if (ipMode === undefined) {
      if (ip !== "") yield required(`${at}.ipMode`, "must be specified when `ip` is set");
    } else if (ip === "") yield forbidden(`${at}.ipMode`, "may not be specified when `ip` is not set");
    else if (ipMode !== "VIP" && ipMode !== "Proxy") yield notSupported(`${at}.ipMode`, ["Proxy", "VIP"]);
    if (hostname === "") continue;
    yield* malformed(`${at}.hostname`, hostname, dns1123Subdomain);
    if (parseIp(hostname)) yield invalid(`${at}.hostname`, "must be a DNS name, not an IP address");
  }
}
