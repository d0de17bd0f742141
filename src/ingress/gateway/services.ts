// The services by which Gateways are reached: each Gateway has addresses of its own, and each of its ports a port of the proxy.
import type { Service } from "#api/core/v1/service.ts";
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import type { Draft } from "#schema/infer.ts";
import { refusalOf } from "./acceptance.ts";
import { keyOfGateway } from "./attachment.ts";
import type { GatewayResult } from "./gateway-routes.ts";
import { type GatewayObject, gatewayGroup } from "./kinds.ts";

export const managedBy = { "app.kubernetes.io/managed-by": "knarr-gateway" } as const;
/** Says whose it is. */
export const gatewayAnnotation = "knarr.local/gateway";
const podPorts = { first: 20_000, last: 29_999 };
const maxNameLength = 63;

/** A name that a service may have, and that no other Gateway leads to. */
export function serviceNameOf(gateway: GatewayObject): string {
  const start = `gateway-${gateway.metadata.name}`.replaceAll(".", "-");
  return `${start.slice(0, maxNameLength - 9)}-${hex(sha256(keyOfGateway(gateway))).slice(0, 8)}`;
}

export interface GatewayServiceOptions {
  readonly namespace: string;
  /** The labels of the pods with the proxy. */
  readonly selector: Readonly<Record<string, string>>;
  /** Whatever is gone takes the services with it. */
  readonly owner?: NonNullable<Draft<Service>["metadata"]>["ownerReferences"];
}

/** The services that there are to be. A port keeps its port of the proxy, unless another service has it, too. */
export function servicesFor(
  gateways: readonly GatewayResult[],
  options: GatewayServiceOptions,
): readonly Draft<Service>[] {
  const taken = new Set<number>();
  const kept = gateways.map(({ service }) =>
    (service?.spec.ports ?? []).flatMap(({ port, targetPort }) => {
      if (typeof targetPort !== "number" || taken.has(targetPort)) return [];
      taken.add(targetPort);
      return [[port, targetPort] as const];
    }),
  );
  return gateways.flatMap(({ gateway, listeners }, i) => {
    const known = new Map(kept[i]);
    const ports = [
      ...new Set(listeners.filter(({ state }) => state.mode && !state.refusal).map(({ state }) => state.listener.port)),
    ];
    if (ports.length === 0 || refusalOf(gateway)) return [];
    return [serviceFor(gateway, new Map(ports.map((port) => [port, known.get(port) ?? freePort(taken)])), options)];
  });
}

function freePort(taken: Set<number>): number {
  for (let port = podPorts.first; port <= podPorts.last; port++) {
    if (taken.has(port)) continue;
    taken.add(port);
    return port;
  }
  throw new Error(`all ports of the proxy from ${podPorts.first} to ${podPorts.last} are taken`);
}

function serviceFor(
  gateway: GatewayObject,
  ports: ReadonlyMap<number, number>,
  { namespace, selector, owner }: GatewayServiceOptions,
): Draft<Service> {
  const { infrastructure, addresses } = gateway.spec;
  const { name } = gateway.metadata;
  const address = addresses?.[0]?.value;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: serviceNameOf(gateway),
      namespace,
      labels: {
        ...infrastructure?.labels,
        ...(name && name.length <= maxNameLength && { [`${gatewayGroup}/gateway-name`]: name }),
        ...managedBy,
      },
      annotations: { ...infrastructure?.annotations, [gatewayAnnotation]: keyOfGateway(gateway) },
      ...(owner && { ownerReferences: owner }),
    },
    spec: {
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      selector,
      ...(address && { loadBalancerIP: address }),
      ports: [...ports].map(([port, targetPort]) => ({ name: `p${port}`, protocol: "TCP", port, targetPort })),
    },
  };
}

/** Whether the service is as it is to be, but for what others add. */
export function isAsWanted(present: Service, wanted: Draft<Service>): boolean {
  const portsOf = (all: readonly { readonly port?: unknown; readonly targetPort?: unknown }[] = []) =>
    JSON.stringify(all.map(({ port, targetPort }) => [port, targetPort]));
  const hasAll = (
    own: Readonly<Record<string, unknown>> | undefined = {},
    all: Readonly<Record<string, unknown>> = {},
  ) => Object.entries(all).every(([key, value]) => own[key] === value);
  return (
    portsOf(present.spec.ports) === portsOf(wanted.spec?.ports as Parameters<typeof portsOf>[0]) &&
    (present.spec.loadBalancerIP ?? "") === (wanted.spec?.loadBalancerIP ?? "") &&
    hasAll(present.metadata.labels, wanted.metadata?.labels) &&
    hasAll(present.metadata.annotations, wanted.metadata?.annotations)
  );
}
