// What is said in the statuses of the objects of the Gateway API: pure functions.
import type { Service } from "#api/core/v1/service.ts";
import type { Condition } from "#api/meta/condition.ts";
import { conditionIn } from "#rules/conditions.ts";
import { refusalOf } from "./acceptance.ts";
import type { GatewayResult, ListenerResult, RouteResult } from "./gateway-routes.ts";
import { gatewayControllerName, isUsable } from "./gateway-routes.ts";
import {
  type GatewayClassObject,
  type GatewayClassStatus,
  type GatewayStatus,
  gatewayGroup,
  type ListenerStatus,
  type ParentReference,
  type RouteStatus,
} from "./kinds.ts";
import { isServed, type ListenerProblem } from "./listeners.ts";

interface Finding {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** A condition that still holds keeps the time since when it does. Those of others are left alone. */
export function conditionsOf(
  findings: readonly Finding[],
  present: readonly Condition[] | undefined,
  { generation = 0, now }: { readonly generation?: number | undefined; readonly now: string },
): readonly Condition[] {
  const own = findings.map((finding): Condition => {
    const known = conditionIn(present, finding.type);
    const lastTransitionTime = known?.status === finding.status ? known.lastTransitionTime : now;
    return { ...finding, observedGeneration: generation, lastTransitionTime };
  });
  return [...own, ...(present ?? []).filter(({ type }) => !findings.some((finding) => finding.type === type))];
}

const finding = (type: string, problem: ListenerProblem | undefined, fine = type): Finding =>
  problem ? { type, status: "False", ...problem } : { type, status: "True", reason: fine, message: "" };

/** What upstream calls the things we can do, besides the core. */
const features = [
  "GRPCRoute",
  "Gateway",
  "GatewayAddressEmpty",
  "GatewayHTTPListenerIsolation",
  "GatewayPort8080",
  "GatewayStaticAddresses",
  "HTTPRoute",
  "HTTPRoute303RedirectStatusCode",
  "HTTPRoute307RedirectStatusCode",
  "HTTPRoute308RedirectStatusCode",
  "HTTPRouteBackendProtocolH2C",
  "HTTPRouteBackendProtocolWebSocket",
  "HTTPRouteBackendTimeout",
  "HTTPRouteDestinationPortMatching",
  "HTTPRouteHostRewrite",
  "HTTPRouteMethodMatching",
  "HTTPRouteNamedRouteRule",
  "HTTPRouteParentRefPort",
  "HTTPRoutePathRedirect",
  "HTTPRoutePathRewrite",
  "HTTPRoutePortRedirect",
  "HTTPRouteQueryParamMatching",
  "HTTPRouteRequestTimeout",
  "HTTPRouteResponseHeaderModification",
  "HTTPRouteSchemeRedirect",
  "ReferenceGrant",
  "TLSRoute",
  "TLSRouteModeMixed",
  "TLSRouteModeTerminate",
];

export function classStatus(gatewayClass: GatewayClassObject, now: string): GatewayClassStatus {
  const { metadata, status } = gatewayClass;
  const problem = isUsable(gatewayClass)
    ? undefined
    : { reason: "InvalidParameters", message: "parametersRef: there are no parameters" };
  const conditions = conditionsOf([finding("Accepted", problem)], status?.conditions, {
    generation: metadata.generation,
    now,
  });
  return { conditions, supportedFeatures: features.map((name) => ({ name })) };
}

export function gatewayStatus({ gateway, listeners, service }: GatewayResult, now: string): GatewayStatus {
  const { metadata, spec, status } = gateway;
  const at = { generation: metadata.generation, now };
  const addresses = addressesOf(service);
  const invalid = listeners.filter(({ state }) => state.refusal ?? state.conflict);
  const refusal = refusalOf(gateway) ?? (invalid.length === listeners.length ? listenersNotValid(invalid) : undefined);
  const accepted =
    !refusal && invalid.length > 0
      ? { ...finding("Accepted", listenersNotValid(invalid)), status: "True" as const }
      : finding("Accepted", refusal);
  const asked = spec.addresses?.[0]?.value;
  const unreachable =
    addresses.length > 0
      ? undefined
      : asked
        ? { reason: "AddressNotUsable", message: `the load balancer has not given the address ${asked}` }
        : { reason: "AddressNotAssigned", message: "the load balancer has given no address yet" };
  const isServing = listeners.some(({ state }) => isServed(state));
  const idle = isServing ? undefined : { reason: "Invalid", message: "no listener can be served" };
  const programmed = refusal ? { reason: "Invalid", message: refusal.message } : (idle ?? unreachable);
  return {
    ...(addresses.length > 0 && { addresses: addresses.map((value) => ({ type: "IPAddress", value })) }),
    conditions: conditionsOf([accepted, finding("Programmed", programmed)], status?.conditions, at),
    listeners: listeners.map((listener) => listenerStatus(listener, service, programmed ? refusal : undefined, at)),
  };
}

const listenersNotValid = (invalid: readonly ListenerResult[]): ListenerProblem => ({
  reason: "ListenersNotValid",
  message: `listeners that cannot be had: ${invalid.map(({ state }) => state.listener.name).join(", ")}`,
});

export const addressesOf = (service: Service | undefined): readonly string[] =>
  (service?.status.loadBalancer.ingress ?? []).flatMap(({ ip }) => (ip ? [ip] : []));

function listenerStatus(
  { state, attachedRoutes }: ListenerResult,
  service: Service | undefined,
  refusal: ListenerProblem | undefined,
  at: { readonly generation: number | undefined; readonly now: string },
): ListenerStatus {
  const { listener, gateway, kinds, conflict, unresolved } = state;
  const wrong = state.refusal ?? conflict;
  const present = gateway.status?.listeners?.find(({ name }) => name === listener.name)?.conditions;
  const hasPort = service?.spec.ports?.some(({ port }) => port === listener.port);
  const idle =
    refusal || wrong || !isServed(state)
      ? { reason: "Invalid", message: (refusal ?? wrong ?? unresolved)?.message ?? "" }
      : hasPort
        ? undefined
        : { reason: "Pending", message: "the port is not open yet" };
  const findings: readonly Finding[] = [
    finding("Accepted", wrong),
    finding("Programmed", idle),
    finding("ResolvedRefs", unresolved),
    conflict
      ? { type: "Conflicted", status: "True", ...conflict }
      : { type: "Conflicted", status: "False", reason: "NoConflicts", message: "" },
  ];
  return {
    name: listener.name,
    supportedKinds: kinds.map((kind) => ({ group: gatewayGroup, kind })),
    attachedRoutes,
    conditions: conditionsOf(findings, present, at),
  };
}

/** Undefined if the route has no parent of ours, now or before. */
export function routeStatus({ route, parents, unresolved }: RouteResult, now: string): RouteStatus | undefined {
  const present = route.status?.parents ?? [];
  const others = present.filter(({ controllerName }) => controllerName !== gatewayControllerName);
  if (parents.length === 0 && others.length === present.length) return undefined;
  const own = parents.map(({ parentRef, refusal }) => {
    const known = present.find(
      (one) => one.controllerName === gatewayControllerName && isSameParent(one.parentRef, parentRef),
    );
    const findings = [finding("Accepted", refusal), finding("ResolvedRefs", unresolved)];
    return {
      parentRef,
      controllerName: gatewayControllerName,
      conditions: conditionsOf(findings, known?.conditions, { generation: route.metadata.generation, now }),
    };
  });
  return { parents: [...others, ...own] };
}

const isSameParent = (one: ParentReference, other: ParentReference): boolean =>
  one.name === other.name &&
  one.namespace === other.namespace &&
  one.sectionName === other.sectionName &&
  one.port === other.port;
