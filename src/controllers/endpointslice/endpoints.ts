// Pods as endpoints of a service: what should be in its slices, before it is cut into slices.
// Upstream: staging/src/k8s.io/endpointslice/utils.go and staging/src/k8s.io/endpointslice/reconciler.go.
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Service } from "#api/core/v1/service.ts";
import type { Endpoint, EndpointPort } from "#api/discovery/v1/endpoint-slice.ts";
import { isReady } from "#rules/conditions.ts";
import { parseIp } from "#schema/ip.ts";
import { addressesOf, hostnameIn, isReachable, targetPortOf } from "../services.ts";

export type AddressFamily = "IPv4" | "IPv6";
export const zoneLabel = "topology.kubernetes.io/zone";

/** Endpoints that have the same ports, by their identity. */
export interface PortGroup {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Map<string, Endpoint>;
}

export interface DesiredEndpoints {
  /** By what `portsKey` says of their ports. */
  readonly groups: ReadonlyMap<string, PortGroup>;
  /** Pods that were left out because nobody knows their node. */
  readonly homeless: readonly Pod[];
}

/** The families for which the service has slices. */
export function familiesOf({ spec: { ipFamilies = [], clusterIP = "" } }: Service): readonly AddressFamily[] {
  const named = (["IPv4", "IPv6"] as const).filter((family) => ipFamilies.includes(family));
  if (named.length > 0) return named;
  if (clusterIP === "" || clusterIP === "None") return ["IPv4", "IPv6"];
  return [parseIp(clusterIP)?.family === 6 ? "IPv6" : "IPv4"];
}

export interface EndpointScene {
  readonly service: Service;
  readonly family: AddressFamily;
  readonly pods: readonly Pod[];
  readonly memo?: EndpointMemo;
  nodeOf(name: string): Node | undefined;
}

export function desiredEndpoints({
  service,
  family,
  pods,
  memo = new EndpointMemo(),
  nodeOf,
}: EndpointScene): DesiredEndpoints {
  const groups = new Map<string, PortGroup>();
  const homeless: Pod[] = [];
  const groupOf = (pod: Pod): PortGroup => {
    const ports = portsOf(service, pod);
    const key = portsKey(ports);
    const group = groups.get(key) ?? { ports, endpoints: new Map<string, Endpoint>() };
    groups.set(key, group);
    return group;
  };
  const areNamed = service.spec.ports?.some(({ targetPort }) => typeof targetPort === "string") === true;
  let group: PortGroup | undefined;
  for (const pod of pods) {
    if (!isReachable(pod)) continue;
    if (!group || areNamed) group = groupOf(pod);
    const node = nodeOf(pod.spec.nodeName ?? "");
    if (!node && !service.spec.publishNotReadyAddresses) homeless.push(pod);
    else {
      const endpoint = memo.endpoint(service, family, pod, node);
      if (endpoint.addresses.length > 0) group.endpoints.set(memo.key(endpoint), endpoint);
    }
  }
  return { groups, homeless };
}

interface BuiltEndpoint {
  readonly service: Service;
  readonly node: Node | undefined;
  readonly endpoint: Endpoint;
}

/** A cache: of thousands of pods few change between two reconciles of a service, so the endpoints of the others are reused. */
export class EndpointMemo {
  readonly #made = { IPv4: new WeakMap<Pod, BuiltEndpoint>(), IPv6: new WeakMap<Pod, BuiltEndpoint>() };
  readonly #keys = new WeakMap<Endpoint, string>();

  endpoint(service: Service, family: AddressFamily, pod: Pod, node: Node | undefined): Endpoint {
    const made = this.#made[family].get(pod);
    if (made && made.service === service && made.node === node) return made.endpoint;
    const endpoint = endpointOf(service, pod, node, addressesOf(pod, family));
    this.#made[family].set(pod, { service, node, endpoint });
    return endpoint;
  }

  /** As endpointKey. */
  key(endpoint: Endpoint): string {
    const known = this.#keys.get(endpoint);
    if (known !== undefined) return known;
    const key = endpointKey(endpoint);
    this.#keys.set(endpoint, key);
    return key;
  }
}

function endpointOf(service: Service, pod: Pod, node: Node | undefined, addresses: readonly string[]): Endpoint {
  const { namespace, name, uid, deletionTimestamp } = pod.metadata;
  const { nodeName } = pod.spec;
  const serving = isReady(pod);
  const terminating = deletionTimestamp !== undefined;
  const ready = service.spec.publishNotReadyAddresses === true || (serving && !terminating);
  const zone = node?.metadata.labels?.[zoneLabel];
  const hostname = hostnameIn(pod, service);
  return {
    addresses: addresses.length > 1 ? addresses.toSorted() : addresses,
    conditions: { ready, serving, terminating },
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(nodeName && { nodeName }),
    ...(zone && { zone }),
    ...(hostname && { hostname }),
  };
}

function portsOf({ spec: { ports = [] } }: Service, pod: Pod): readonly EndpointPort[] {
  return ports.flatMap((one) => {
    const port = targetPortOf(pod, one);
    if (port === undefined) return [];
    const { name = "", protocol, appProtocol } = one;
    return [{ name, port, protocol, ...(appProtocol !== undefined && { appProtocol }) }];
  });
}

/** Equal for lists of the same ports in any order. */
export const portsKey = (ports: readonly EndpointPort[]): string =>
  ports
    .map(({ name, protocol, port = "", appProtocol = "-" }) => `${name} ${protocol} ${port} ${appProtocol}`)
    .toSorted()
    .join("\n");

/** What makes an endpoint the same one as before, whatever else of it has changed. */
export const endpointKey = ({ addresses, hostname = "", targetRef }: Endpoint): string =>
  `${addresses.length > 1 ? addresses.toSorted().join() : addresses[0]} ${hostname} ${targetRef?.namespace ?? ""}/${targetRef?.name ?? ""}`;

/** Whether endpoints of the same identity are the same in all that is kept up; hints are decided later. */
export function sameEndpoint(a: Endpoint, b: Endpoint): boolean {
  const [one, other] = [a.conditions, b.conditions];
  return (
    a.nodeName === b.nodeName &&
    a.zone === b.zone &&
    one.ready === other.ready &&
    one.serving === other.serving &&
    one.terminating === other.terminating &&
    sameReference(a.targetRef, b.targetRef)
  );
}

/** A pod's resourceVersion changes all the time, and says nothing here. */
const sameReference = (a: Endpoint["targetRef"] = {}, b: Endpoint["targetRef"] = {}): boolean =>
  a.uid === b.uid &&
  a.name === b.name &&
  a.namespace === b.namespace &&
  a.kind === b.kind &&
  a.apiVersion === b.apiVersion &&
  a.fieldPath === b.fieldPath;
