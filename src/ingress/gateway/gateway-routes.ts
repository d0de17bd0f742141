// From the objects of the Gateway API to what the proxy is to do, and what is to be said of each object: a pure function.
import type { Secret } from "#api/core/v1/secret.ts";
import type { Service } from "#api/core/v1/service.ts";
import type { Labels } from "#schema/selector.ts";
import type { ProxyBackend, ProxyState } from "../proxy-state.ts";
import type { KeyPairCheck } from "../secrets.ts";
import { refusalOf } from "./acceptance.ts";
import { byAge, type KindedRoute, keyOfGateway, type ParentResult, RouteAttacher } from "./attachment.ts";
import { FrontendBuilder, type SiteRule } from "./frontends.ts";
import type {
  GatewayClassObject,
  GatewayObject,
  GrpcRouteRule,
  HttpRouteRule,
  ReferenceGrantObject,
  RouteObject,
  RouteRule,
} from "./kinds.ts";
import { type ListenerProblem, type ListenerState, listenersOf } from "./listeners.ts";
import { UnsupportedValue } from "./matches.ts";
import type { BackendSources } from "./references.ts";
import { rulesOf } from "./rules.ts";

/** What the cluster has, by key. */
export interface GatewayObjects extends BackendSources {
  readonly classes: readonly GatewayClassObject[];
  readonly gateways: readonly GatewayObject[];
  readonly httpRoutes: readonly RouteObject<HttpRouteRule>[];
  readonly grpcRoutes: readonly RouteObject<GrpcRouteRule>[];
  readonly tlsRoutes: readonly RouteObject<RouteRule>[];
  readonly grants: readonly ReferenceGrantObject[];
  readonly secret: (key: string) => Secret | undefined;
  readonly namespaceLabels: (name: string) => Labels | undefined;
  readonly isKeyPair: KeyPairCheck;
  /** The service by which a Gateway is reached. */
  readonly serviceOf: (gateway: GatewayObject) => Service | undefined;
}

export const gatewayControllerName = "knarr.local/gateway";

export interface GatewayRouting {
  readonly state: ProxyState;
  /** Those that are ours. */
  readonly classes: readonly GatewayClassObject[];
  readonly gateways: readonly GatewayResult[];
  /** All, with what became of those parents that are ours. */
  readonly routes: readonly RouteResult[];
}

export interface GatewayResult {
  readonly gateway: GatewayObject;
  readonly listeners: readonly ListenerResult[];
  readonly service: Service | undefined;
}
export interface ListenerResult {
  readonly state: ListenerState;
  readonly attachedRoutes: number;
}
export interface RouteResult extends KindedRoute {
  readonly parents: readonly ParentResult[];
  readonly unresolved?: ListenerProblem;
}

export function gatewayRoutesOf(objects: GatewayObjects): GatewayRouting {
  const classes = objects.classes.filter(({ spec }) => spec.controllerName === gatewayControllerName);
  const names = new Set(classes.filter(isUsable).map(({ metadata }) => metadata.name));
  const gateways = objects.gateways.filter(
    ({ spec, metadata }) => names.has(spec.gatewayClassName) && metadata.deletionTimestamp === undefined,
  );
  const listeners = new Map(gateways.map((gateway) => [keyOfGateway(gateway), listenersOf(gateway, objects)]));
  const attacher = new RouteAttacher({ ...objects, listeners });
  const backends = new Map<string, ProxyBackend>();
  const rules = new Map<ListenerState, SiteRule[]>();
  const attachedRoutes = new Map<ListenerState, number>();
  const routes = allRoutes(objects).map((route): RouteResult => {
    const result = resultOf(route, attacher, objects);
    const attached = new Set(result.parents.flatMap(({ attachments }) => attachments.map(({ listener }) => listener)));
    for (const listener of attached) attachedRoutes.set(listener, (attachedRoutes.get(listener) ?? 0) + 1);
    for (const { id, backend, matches } of result.rules) {
      if (attached.size > 0) backends.set(id, backend);
      for (const { attachments } of result.parents)
        for (const { listener, hosts } of attachments)
          for (const ranked of matches)
            for (const host of hosts) {
              const all = rules.get(listener) ?? [];
              rules.set(listener, all);
              all.push({ host, kind: route.kind, ranked, backend: id });
            }
    }
    return result;
  });
  const builder = new FrontendBuilder(rules);
  // One that is refused may still have its service for a moment.
  for (const gateway of gateways.filter((one) => !refusalOf(one)))
    builder.add(listeners.get(keyOfGateway(gateway)) ?? [], objects.serviceOf(gateway)?.spec.ports ?? []);
  return {
    state: builder.state(backends),
    classes,
    gateways: gateways.map((gateway) => ({
      gateway,
      service: objects.serviceOf(gateway),
      listeners: (listeners.get(keyOfGateway(gateway)) ?? []).map((state) => ({
        state,
        attachedRoutes: attachedRoutes.get(state) ?? 0,
      })),
    })),
    routes,
  };
}

/** There are no parameters. */
export const isUsable = ({ spec }: GatewayClassObject): boolean => spec.parametersRef === undefined;

const allRoutes = ({ httpRoutes, grpcRoutes, tlsRoutes }: GatewayObjects): readonly KindedRoute[] =>
  [
    ...httpRoutes.map((route) => ({ kind: "HTTPRoute" as const, route })),
    ...grpcRoutes.map((route) => ({ kind: "GRPCRoute" as const, route })),
    ...tlsRoutes.map((route) => ({ kind: "TLSRoute" as const, route })),
  ]
    .filter(({ route }) => route.metadata.deletionTimestamp === undefined)
    .toSorted(byAge);

/** A route with a value that we cannot follow is refused whole. */
function resultOf(route: KindedRoute, attacher: RouteAttacher, objects: GatewayObjects) {
  try {
    const { rules, problems } = rulesOf(route, objects);
    const [unresolved] = problems;
    return { ...route, parents: attacher.attach(route), rules, ...(unresolved && { unresolved }) };
  } catch (error) {
    if (!(error instanceof UnsupportedValue)) throw error;
    const refusal = { reason: "UnsupportedValue", message: error.message };
    const parents = attacher.attach(route).map(({ parentRef }) => ({ parentRef, attachments: [], refusal }));
    return { ...route, parents, rules: [] };
  }
}
