// The ports of Gateways with their listeners, sites and routes, as the proxy has them.
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import {
  type ConditionalRoute,
  emptyProxyState,
  type ProxyBackend,
  type ProxyFrontend,
  type ProxyState,
} from "../proxy-state.ts";
import { keyOfGateway } from "./attachment.ts";
import { anyHost, tierOf } from "./hostnames.ts";
import type { RouteKindName } from "./kinds.ts";
import { isServed, type ListenerState } from "./listeners.ts";
import { compareRanks, type RankedMatch } from "./matches.ts";

/** What a rule of a route has for one host of a listener. */
export interface SiteRule {
  readonly host: string;
  readonly kind: RouteKindName;
  readonly ranked: RankedMatch;
  readonly backend: string;
}

/** A port of the service by which a Gateway is reached: its `targetPort` is where the proxy listens. */
export interface GatewayPort {
  readonly port: number;
  readonly targetPort?: number | string | undefined;
}

export class FrontendBuilder {
  readonly #rules: ReadonlyMap<ListenerState, readonly SiteRule[]>;
  readonly #frontends: ProxyFrontend[] = [];
  readonly #exact = new Map<string, string>();
  readonly #prefixes = new Map<string, string>();
  readonly #patterns = new Map<string, string>();
  readonly #hosts = new Map<string, string>();
  readonly #wildcards = new Map<string, string>();
  readonly #certificates = new Map<string, string>();
  readonly #lists = new Map<string, ReadonlyMap<string, readonly string[]>>();

  /** Rules in the order of the age of their routes. */
  constructor(rules: ReadonlyMap<ListenerState, readonly SiteRule[]>) {
    this.#rules = rules;
  }

  state(backends: ReadonlyMap<string, ProxyBackend>): ProxyState {
    const longestFirst = (map: ReadonlyMap<string, string>) =>
      new Map([...map].toSorted(([a], [b]) => b.length - a.length || (a < b ? -1 : 1)));
    return {
      ...emptyProxyState,
      exact: this.#exact,
      prefixes: this.#prefixes,
      patterns: longestFirst(this.#patterns),
      hosts: this.#hosts,
      wildcards: longestFirst(this.#wildcards),
      frontends: this.#frontends.toSorted((a, b) => a.port - b.port),
      backends,
      certificates: this.#certificates,
      certificateLists: this.#lists,
    };
  }

  /** The listeners of a Gateway. A port that the service does not have yet is left out. */
  add(listeners: readonly ListenerState[], ports: readonly GatewayPort[]): void {
    const served = listeners.filter(isServed);
    for (const { port: publicPort, targetPort: port } of ports) {
      const here = served.filter(({ listener }) => listener.port === publicPort);
      const id = `f${port}`;
      if (here.length === 0 || typeof port !== "number" || this.#frontends.some((one) => one.id === id)) continue;
      const conditional = here.flatMap((listener) => this.#addListener(listener, id));
      const has = (mode: ListenerState["mode"]) => here.some((one) => one.mode === mode);
      const isStrict = this.#addCertificates(id, here);
      this.#frontends.push({
        id,
        port,
        publicPort,
        hasHttps: has("https"),
        hasTermination: has("terminate"),
        hasPassthrough: has("passthrough"),
        isStrict,
        conditional,
      });
    }
  }

  #addHost(host: string, at: string, value: string): void {
    const [map, key] =
      tierOf(host) === "wildcard" ? [this.#wildcards, `${host.slice(1)}@${at}`] : [this.#hosts, `${host}@${at}`];
    if (!map.has(key)) map.set(key, value);
  }

  #addListener(state: ListenerState, frontend: string): readonly ConditionalRoute[] {
    const { gateway, listener, mode } = state;
    const id = `${mode}-${shortHash(`${keyOfGateway(gateway)}/${listener.name}`)}`;
    this.#addHost(listener.hostname ?? anyHost, frontend, id);
    const sites = Map.groupBy(this.#rules.get(state) ?? [], ({ host }) => host);
    return [...sites].flatMap(([host, rules]) => {
      const site = `s${shortHash(`${id} ${host}`)}`;
      this.#addHost(host, id, site);
      // A stable sort: of what is equal, the older comes first.
      const sorted = rules.toSorted((a, b) => compareRanks(a.ranked.rank, b.ranked.rank));
      if (sorted.every(({ ranked }) => ranked.isPlain)) return this.#addPlain(site, sorted);
      return sorted.map(({ ranked: { match }, backend }) => ({ site, tier: tierOf(host), match, backend }));
    });
  }

  #addPlain(site: string, rules: readonly SiteRule[]): readonly ConditionalRoute[] {
    for (const { kind, ranked, backend } of rules) {
      const { type, value } = ranked.match.path;
      const [map, key] =
        kind === "TLSRoute"
          ? [this.#exact, site]
          : type === "Exact"
            ? [this.#exact, site + value]
            : type === "Prefix"
              ? [this.#prefixes, `${site}${value.replace(/\/+$/, "")}/`]
              : [this.#patterns, `^${site}(?:${value})$`];
      if (!map.has(key)) map.set(key, backend);
    }
    return [];
  }

  /** Whether names that no listener has are refused: those of a listener for any host are not. */
  #addCertificates(id: string, listeners: readonly ListenerState[]): boolean {
    const hosts = new Map<string, Set<string>>();
    const terminating = listeners.filter(({ certificates }) => certificates.size > 0);
    // The first certificate of the list is for all other hosts.
    const ordered = terminating.toSorted((a, b) => Number(isForAny(b)) - Number(isForAny(a)));
    for (const { listener, certificates } of ordered)
      for (const [secret, pem] of certificates) {
        this.#certificates.set(secret, pem);
        const names = hosts.get(secret) ?? new Set();
        hosts.set(secret, listener.hostname === undefined ? names : names.add(listener.hostname));
      }
    if (hosts.size > 0) this.#lists.set(id, new Map([...hosts].map(([secret, names]) => [secret, [...names]])));
    return terminating.length > 0 && !terminating.some(isForAny);
  }
}

const isForAny = ({ listener }: ListenerState): boolean => listener.hostname === undefined;

const shortHash = (text: string): string => hex(sha256(text)).slice(0, 10);
