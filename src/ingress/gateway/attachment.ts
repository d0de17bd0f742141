// Which routes belong to which listeners.
import { type Labels, SelectorError, selectorMatcher } from "#schema/selector.ts";
import { haveCommonHost, hostsAt } from "./hostnames.ts";
import {
  type GatewayObject,
  gatewayGroup,
  type ParentReference,
  type RouteKindName,
  type RouteObject,
} from "./kinds.ts";
import type { ListenerProblem, ListenerState } from "./listeners.ts";

/** A route of any kind. Rules of different kinds are read by different functions. */
export interface KindedRoute {
  readonly kind: RouteKindName;
  readonly route: RouteObject;
}

/** A route at one listener. */
export interface RouteAttachment {
  readonly listener: ListenerState;
  readonly hosts: readonly string[];
}

/** What became of one of the parents of a route that are ours. */
export interface ParentResult {
  readonly parentRef: ParentReference;
  readonly attachments: readonly RouteAttachment[];
  /** Why it has none. */
  readonly refusal?: ListenerProblem;
}

export interface AttachmentSources {
  /** The listeners of our Gateways, by the key of the Gateway. */
  readonly listeners: ReadonlyMap<string, readonly ListenerState[]>;
  readonly namespaceLabels: (name: string) => Labels | undefined;
}

export const keyOfGateway = ({ metadata }: GatewayObject): string => `${metadata.namespace}/${metadata.name}`;

export const keyOfRoute = ({ kind, route: { metadata } }: KindedRoute): string =>
  `${kind}/${metadata.namespace}/${metadata.name}`;

/** Older routes first; of the same age, by name. */
export function byAge(one: KindedRoute, other: KindedRoute): number {
  const [a, b] = [one, other].map(
    ({ route: { metadata } }) => `${metadata.creationTimestamp ?? ""} ${metadata.namespace}/${metadata.name}`,
  ) as [string, string];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Attaches routes one after the other; the older ones have to come first. */
export class RouteAttacher {
  readonly #sources: AttachmentSources;
  /** Hosts of the routes of each listener, by the kind of route. */
  readonly #taken = new Map<ListenerState, Map<RouteKindName, string[]>>();

  constructor(sources: AttachmentSources) {
    this.#sources = sources;
  }

  attach(route: KindedRoute): readonly ParentResult[] {
    const results: ParentResult[] = [];
    for (const parentRef of route.route.spec.parentRefs ?? []) {
      const { group = gatewayGroup, kind = "Gateway", name } = parentRef;
      const namespace = parentRef.namespace ?? route.route.metadata.namespace;
      const listeners = this.#sources.listeners.get(`${namespace}/${name}`);
      if (group === gatewayGroup && kind === "Gateway" && listeners)
        results.push(this.#attachTo(parentRef, listeners, route));
    }
    return results;
  }

  #attachTo(parentRef: ParentReference, all: readonly ListenerState[], route: KindedRoute): ParentResult {
    const refused = (reason: string, message: string): ParentResult => ({
      parentRef,
      attachments: [],
      refusal: { reason, message },
    });
    const { sectionName, port } = parentRef;
    const meant = all.filter(
      ({ listener }) =>
        (sectionName === undefined || listener.name === sectionName) && (port === undefined || listener.port === port),
    );
    if (meant.length === 0) return refused("NoMatchingParent", "the Gateway has no such listener");
    const allowing = meant.filter((listener) => this.#isAllowed(listener, route));
    if (allowing.length === 0) return refused("NotAllowedByListeners", "no listener allows such a route");
    const attachments = allowing
      .map((listener) => ({ listener, hosts: hostsAt(listener.listener.hostname, route.route.spec.hostnames) }))
      .filter(({ hosts }) => hosts.length > 0);
    if (attachments.length === 0)
      return refused("NoMatchingListenerHostname", "no listener has a hostname of the route");
    const free = attachments.filter((one) => this.#isFree(one, route.kind));
    if (free.length === 0)
      return refused("HostnameConflict", "an older route of another kind has a hostname of the route");
    for (const one of free) this.#take(one, route.kind);
    return { parentRef, attachments: free };
  }

  #isAllowed({ kinds, gateway, listener }: ListenerState, { kind, route }: KindedRoute): boolean {
    if (!kinds.includes(kind)) return false;
    const { from = "Same", selector } = listener.allowedRoutes?.namespaces ?? {};
    const namespace = route.metadata.namespace ?? "";
    if (from === "All") return true;
    if (from === "Same") return namespace === gateway.metadata.namespace;
    try {
      return selectorMatcher(selector)(this.#sources.namespaceLabels(namespace));
    } catch (error) {
      if (error instanceof SelectorError) return false; // the definition does not check operators
      throw error;
    }
  }

  /** HTTP and gRPC cannot have the same host at a listener. */
  #isFree({ listener, hosts }: RouteAttachment, kind: RouteKindName): boolean {
    const taken = this.#taken.get(listener) ?? new Map<RouteKindName, string[]>();
    return [...taken].every(([other, others]) => other === kind || !haveCommonHost(hosts, others));
  }

  #take({ listener, hosts }: RouteAttachment, kind: RouteKindName): void {
    const taken = this.#taken.get(listener) ?? new Map<RouteKindName, string[]>();
    taken.set(kind, [...(taken.get(kind) ?? []), ...hosts]);
    this.#taken.set(listener, taken);
  }
}
