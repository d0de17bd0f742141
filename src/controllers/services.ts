// Services and the pods behind them, as the endpoints controllers see them.
// Upstream: staging/src/k8s.io/endpointslice/util/controller_utils.go.
import { isSidecar } from "#api/core/v1/amounts.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Service, type ServicePort } from "#api/core/v1/service.ts";
import { equal } from "#base/collections.ts";
import { index } from "#client/cache.ts";
import { type CacheView, watching } from "#client/controller.ts";
import { isReady } from "#rules/conditions.ts";
import { hasEnded } from "#rules/pods.ts";
import { clusterAddresses } from "#rules/services.ts";
import { formatIp, parseIp } from "#schema/ip.ts";
import { hasLabels, labelPair, podsWithLabels } from "./pods-by-label.ts";

/** Says of endpoints that their service has no address of its own. */
export const headlessLabel = "service.kubernetes.io/headless";
export const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

/** Services by one label that their pods must have: enough to find them by the labels of a pod. */
const servicesByLabel = index(Service, ({ metadata: { namespace }, spec: { selector = {} } }) =>
  Object.entries(selector)
    .slice(0, 1)
    .map(([key, value]) => labelPair(namespace, key, value)),
);

/** The services that select a pod, found by its labels: no other services are looked at. */
export function servicesOf({ metadata: { namespace = "", labels = {} } }: Pod, cache: CacheView): readonly Service[] {
  const candidates = Object.entries(labels).flatMap(([key, value]) =>
    cache.by(servicesByLabel, labelPair(namespace, key, value)),
  );
  return candidates.filter(({ spec }) => hasLabels(labels, spec.selector ?? {}));
}

/** The pods that a service selects. */
export const podsOf = ({ metadata: { namespace }, spec }: Service, cache: CacheView): readonly Pod[] =>
  hasSelector(spec) ? podsWithLabels(namespace, spec.selector ?? {}, cache) : [];

/** Wakes the services of a pod whose place in endpoints may have changed. */
export const watchingPodsOfServices = watching(
  Pod,
  (pod, cache) => servicesOf(pod, cache).map(({ metadata }) => metadata),
  (old, pod) =>
    old.metadata.deletionTimestamp !== pod.metadata.deletionTimestamp ||
    isReady(old) !== isReady(pod) ||
    hasEnded(old) !== hasEnded(pod) ||
    old.spec.nodeName !== pod.spec.nodeName ||
    old.spec.hostname !== pod.spec.hostname ||
    old.spec.subdomain !== pod.spec.subdomain ||
    !equal(old.status.podIPs, pod.status.podIPs) ||
    !equal(old.metadata.labels, pod.metadata.labels),
);

export const isHeadless = ({ spec }: Service): boolean => clusterAddresses(spec).length === 0;

/** Whether endpoints are made for the service: one without a selector has them from elsewhere. */
export const hasEndpoints = ({ spec }: Service): boolean => spec.type !== "ExternalName" && hasSelector(spec);
export const hasSelector = ({ selector = {} }: Service["spec"]): boolean => Object.keys(selector).length > 0;

/** Whether a pod belongs in endpoints: it has an address, and has not ended. */
export const isReachable = (pod: Pod): boolean =>
  !hasEnded(pod) && (Boolean(pod.status.podIP) || (pod.status.podIPs?.length ?? 0) > 0);

/** The pod's name in the service's DNS, if it has asked for one there. */
export const hostnameIn = ({ metadata, spec }: Pod, { metadata: { namespace, name } }: Service): string | undefined =>
  spec.hostname && spec.subdomain === name && namespace === metadata.namespace ? spec.hostname : undefined;

/** The pod's addresses of a family, as they are commonly written. */
export const addressesOf = ({ status: { podIPs = [] } }: Pod, family: "IPv4" | "IPv6"): readonly string[] =>
  podIPs.flatMap(({ ip }) => {
    if (plainIpv4.test(ip)) return family === "IPv4" ? [ip] : [];
    const parsed = parseIp(ip);
    return parsed && parsed.family === (family === "IPv4" ? 4 : 6) ? [formatIp(parsed)] : [];
  });

/** Nearly all addresses; they need not be taken apart. The server has checked that no part is above 255. */
const plainIpv4 = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/;

/** The number of the pod's port that a service's port leads to; undefined if the pod has none of that name. */
export function targetPortOf({ spec }: Pod, { targetPort, port, protocol }: ServicePort): number | undefined {
  if (typeof targetPort !== "string") return targetPort ?? port;
  const sidecars = (spec.initContainers ?? []).filter(isSidecar);
  for (const { ports = [] } of [...spec.containers, ...sidecars]) {
    const found = ports.find((one) => one.name === targetPort && one.protocol === protocol);
    if (found) return found.containerPort;
  }
  return undefined;
}
