// Objects of the Gateway API for tests.
import type { Secret } from "#api/core/v1/secret.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { world } from "#client/testing.ts";
import { keyOfGateway } from "./attachment.ts";
import { type GatewayObjects, gatewayControllerName } from "./gateway-routes.ts";
import type {
  GatewayListener,
  GatewayObject,
  GatewaySpec,
  GrpcRouteRule,
  HttpRouteRule,
  ReferenceGrantSpec,
  RouteObject,
  RouteRule,
} from "./kinds.ts";

const w = world();

export const gatewayOf = (
  listeners: readonly Partial<GatewayListener>[],
  rest: Partial<GatewaySpec> & { readonly name?: string } = {},
): GatewayObject => {
  const { name = "gw", ...spec } = rest;
  return {
    metadata: { name, namespace: "default", generation: 3 },
    spec: {
      gatewayClassName: "haproxy",
      listeners: listeners.map((one, i) => ({ name: `l${i}`, port: 80, protocol: "HTTP", ...one })),
      ...spec,
    },
  };
};

let made = 0;
export const routeOf = <R extends RouteRule = HttpRouteRule>(
  rules: readonly R[],
  rest: Partial<RouteObject<R>["spec"]> & { readonly name?: string; readonly namespace?: string } = {},
): RouteObject<R> => {
  const { name = `r${made++}`, namespace = "default", ...spec } = rest;
  return {
    metadata: { name, namespace, generation: 2, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { parentRefs: [{ name: "gw" }], rules, ...spec },
  };
};

export const to = (name: string, weight = 1) => ({ name, port: 80, weight });

export interface GatewaySituation {
  readonly gateways: readonly GatewayObject[];
  readonly http?: readonly RouteObject<HttpRouteRule>[];
  readonly grpc?: readonly RouteObject<GrpcRouteRule>[];
  readonly tls?: readonly RouteObject<RouteRule>[];
  readonly grants?: readonly { readonly namespace: string; readonly spec: ReferenceGrantSpec }[];
  /** Addresses with ports, by `namespace/name` or by the name alone. */
  readonly endpoints?: Readonly<Record<string, readonly string[]>>;
  readonly secrets?: Readonly<Record<string, Secret>>;
  /** The port of the proxy for each port of a Gateway. */
  readonly podPort?: (gateway: GatewayObject, port: number) => number;
}

/** Each service has one port 80, and its endpoints ports of their own. */
export function objectsOf(situation: GatewaySituation): GatewayObjects {
  const { gateways, endpoints = {}, secrets = {}, podPort = (_, port) => 20_000 + port } = situation;
  const addressesOf = (key: string) => endpoints[key] ?? endpoints[key.replace(/^default\//, "")];
  const [namespace, metadata] = ["default", { name: "s", namespace: "default" }];
  return {
    classes: [{ metadata: { name: "haproxy" }, spec: { controllerName: gatewayControllerName } }],
    gateways,
    httpRoutes: situation.http ?? [],
    grpcRoutes: situation.grpc ?? [],
    tlsRoutes: situation.tls ?? [],
    grants: (situation.grants ?? []).map((one, i) => ({
      metadata: { name: `g${i}`, namespace: one.namespace },
      spec: one.spec,
    })),
    service: (key) => addressesOf(key) && w.have(Service, { metadata, spec: { ports: [{ name: "http", port: 80 }] } }),
    slices: (key) =>
      (addressesOf(key) ?? []).map((address, i) => {
        const [ip = "", port] = address.split(":");
        return w.have(EndpointSlice, {
          metadata: { name: `s-${i}`, namespace },
          addressType: "IPv4",
          endpoints: [{ addresses: [ip], conditions: { ready: true } }],
          ports: [{ name: "http", port: Number(port) }],
        });
      }),
    secret: (key) => secrets[key],
    namespaceLabels: (name) => ({ "kubernetes.io/metadata.name": name }),
    isKeyPair: () => true,
    serviceOf: (gateway) => {
      const ports = [...new Set(gateway.spec.listeners.map(({ port }) => port))];
      return w.have(Service, {
        metadata: { name: keyOfGateway(gateway).replace("/", "-"), namespace },
        spec: { ports: ports.map((port) => ({ name: `p${port}`, port, targetPort: podPort(gateway, port) })) },
        status: { loadBalancer: { ingress: [{ ip: "10.0.0.9" }] } },
      });
    },
  };
}
