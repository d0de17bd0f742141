// The kinds of the Gateway API, as far as the controller reads them. What they are in full is in manifests/gateway-api/: the API server
// knows them by these definitions, and has filled in the defaults.
import type { Condition } from "#api/meta/condition.ts";
import { Field, scalars } from "#schema/field.ts";
import { resource } from "#schema/kind.ts";
import type { ObjectMeta } from "#schema/object-meta.ts";
import type { SelectorStruct } from "#schema/selector.ts";

export const gatewayGroup = "gateway.networking.k8s.io";

/** A part of an object that the API server has checked by its definition. */
const part = <T>(doc: string) => new Field<T, true>({ number: 0, type: scalars.json, doc });
const optionalPart = <T>(doc: string) => new Field<T>({ number: 0, type: scalars.json, doc });

const common = { group: gatewayGroup, version: "v1", subresources: { status: true } } as const;

export const GatewayClass = resource({
  ...common,
  kind: "GatewayClass",
  plural: "gatewayclasses",
  scope: "Cluster",
  doc: "Gateways of one controller.",
  fields: {
    spec: part<{ readonly controllerName: string; readonly parametersRef?: object }>("Who serves it."),
    status: optionalPart<GatewayClassStatus>("What the controller says."),
  },
});

export const Gateway = resource({
  ...common,
  kind: "Gateway",
  plural: "gateways",
  scope: "Namespaced",
  doc: "Where requests come in.",
  fields: {
    spec: part<GatewaySpec>("Listeners and addresses."),
    status: optionalPart<GatewayStatus>("What the controller says."),
  },
});

const route = { ...common, scope: "Namespaced" } as const;

export const HTTPRoute = resource({
  ...route,
  kind: "HTTPRoute",
  plural: "httproutes",
  doc: "Where HTTP requests go.",
  fields: {
    spec: part<RouteSpec<HttpRouteRule>>("Parents, hosts and rules."),
    status: optionalPart<RouteStatus>("What controllers say."),
  },
});

export const GRPCRoute = resource({
  ...route,
  kind: "GRPCRoute",
  plural: "grpcroutes",
  doc: "Where gRPC calls go.",
  fields: {
    spec: part<RouteSpec<GrpcRouteRule>>("Parents, hosts and rules."),
    status: optionalPart<RouteStatus>("What controllers say."),
  },
});

export const TLSRoute = resource({
  ...route,
  kind: "TLSRoute",
  plural: "tlsroutes",
  doc: "Where TLS connections go.",
  fields: {
    spec: part<RouteSpec<RouteRule>>("Parents, hosts and rules."),
    status: optionalPart<RouteStatus>("What controllers say."),
  },
});

export const ReferenceGrant = resource({
  group: gatewayGroup,
  version: "v1",
  kind: "ReferenceGrant",
  plural: "referencegrants",
  scope: "Namespaced",
  doc: "Which objects of other namespaces may name objects of this one.",
  fields: { spec: part<ReferenceGrantSpec>("From whom to what.") },
});

export const gatewayKinds = [GatewayClass, Gateway, HTTPRoute, GRPCRoute, TLSRoute, ReferenceGrant] as const;

export type RouteKindName = "HTTPRoute" | "GRPCRoute" | "TLSRoute";

interface WithMetadata {
  readonly metadata: ObjectMeta;
}

export interface GatewayClassObject extends WithMetadata {
  readonly spec: { readonly controllerName: string; readonly parametersRef?: object };
  readonly status?: GatewayClassStatus | undefined;
}
export interface GatewayClassStatus {
  readonly conditions?: readonly Condition[];
  readonly supportedFeatures?: readonly { readonly name: string }[];
}

export interface GatewayObject extends WithMetadata {
  readonly spec: GatewaySpec;
  readonly status?: GatewayStatus | undefined;
}
export interface GatewaySpec {
  readonly gatewayClassName: string;
  readonly listeners: readonly GatewayListener[];
  readonly addresses?: readonly { readonly type: string; readonly value?: string }[];
  readonly infrastructure?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly parametersRef?: object;
  };
  readonly tls?: { readonly frontend?: object; readonly backend?: object };
}
export interface GatewayListener {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls?: { readonly mode: "Terminate" | "Passthrough"; readonly certificateRefs?: readonly ObjectReference[] };
  readonly allowedRoutes?: {
    readonly kinds?: readonly RouteGroupKind[];
    readonly namespaces?: { readonly from?: "All" | "Selector" | "Same"; readonly selector?: SelectorStruct };
  };
}
export interface RouteGroupKind {
  readonly group?: string;
  readonly kind: string;
}
export interface ObjectReference {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
}
export interface GatewayStatus {
  readonly addresses?: readonly { readonly type?: string; readonly value: string }[];
  readonly conditions?: readonly Condition[];
  readonly listeners?: readonly ListenerStatus[];
}
export interface ListenerStatus {
  readonly name: string;
  readonly supportedKinds: readonly RouteGroupKind[];
  readonly attachedRoutes: number;
  readonly conditions: readonly Condition[];
}

export interface RouteObject<R extends RouteRule = RouteRule> extends WithMetadata {
  readonly spec: RouteSpec<R>;
  readonly status?: RouteStatus | undefined;
}
export interface RouteSpec<R extends RouteRule> {
  readonly parentRefs?: readonly ParentReference[];
  readonly hostnames?: readonly string[];
  readonly rules?: readonly R[];
}
export interface ParentReference extends ObjectReference {
  readonly sectionName?: string;
  readonly port?: number;
}
export interface RouteStatus {
  readonly parents: readonly RouteParentStatus[];
}
export interface RouteParentStatus {
  readonly parentRef: ParentReference;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

export interface RouteRule {
  readonly backendRefs?: readonly BackendReference[];
}
export interface BackendReference extends ObjectReference {
  readonly port?: number;
  readonly weight?: number;
  readonly filters?: readonly RouteFilter[];
}
export interface HttpRouteRule extends RouteRule {
  readonly matches?: readonly HttpMatch[];
  readonly filters?: readonly RouteFilter[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
}
export interface HttpMatch {
  readonly path?: { readonly type?: "Exact" | "PathPrefix" | "RegularExpression"; readonly value?: string };
  readonly method?: string;
  readonly headers?: readonly NamedMatch[];
  readonly queryParams?: readonly NamedMatch[];
}
export interface NamedMatch {
  readonly name: string;
  readonly value: string;
  readonly type?: "Exact" | "RegularExpression";
}
export interface GrpcRouteRule extends RouteRule {
  readonly matches?: readonly GrpcMatch[];
  readonly filters?: readonly RouteFilter[];
}
export interface GrpcMatch {
  readonly method?: {
    readonly type?: "Exact" | "RegularExpression";
    readonly service?: string;
    readonly method?: string;
  };
  readonly headers?: readonly NamedMatch[];
}
export interface RouteFilter {
  readonly type: string;
  readonly requestHeaderModifier?: HeaderFilter;
  readonly responseHeaderModifier?: HeaderFilter;
  readonly requestRedirect?: {
    readonly scheme?: "http" | "https";
    readonly hostname?: string;
    readonly port?: number;
    readonly statusCode?: number;
    readonly path?: PathModifier;
  };
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: PathModifier };
}
export interface HeaderFilter {
  readonly set?: readonly { readonly name: string; readonly value: string }[];
  readonly add?: readonly { readonly name: string; readonly value: string }[];
  readonly remove?: readonly string[];
}
export interface PathModifier {
  readonly type: "ReplaceFullPath" | "ReplacePrefixMatch";
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
}

export interface ReferenceGrantObject extends WithMetadata {
  readonly spec: ReferenceGrantSpec;
}
export interface ReferenceGrantSpec {
  readonly from: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[];
  readonly to: readonly { readonly group: string; readonly kind: string; readonly name?: string }[];
}
