// What the proxy is to do, without a word of any proxy's own language.
import type { RouteOptions, ServerProtocol } from "./route-options.ts";

export interface ProxyState {
  /** Hosts of Ingresses: `a.example`, `*.b.example`, and `*` for all others. */
  readonly sites: ReadonlySet<string>;
  /** The backend of each site and path: `a.example/x`. An exact path counts before a prefix, and a longer prefix before a shorter. */
  readonly exact: ReadonlyMap<string, string>;
  /** Prefixes end with a slash, so that they match whole parts of a path with a slash added; those that match any text do not. */
  readonly prefixes: ReadonlyMap<string, string>;
  /** Patterns, the longest first; each is for a site and a path. */
  readonly patterns: ReadonlyMap<string, string>;
  /** Ports of gateways. Those of Ingresses are always there. */
  readonly frontends: readonly ProxyFrontend[];
  /** The listener of a host at a frontend, and the site of a host at a listener: `a.example@f1`, and `@f1` for any host. */
  readonly hosts: ReadonlyMap<string, string>;
  /** The same for all names that end so, the longest first: `.b.example@f1`. */
  readonly wildcards: ReadonlyMap<string, string>;
  readonly backends: ReadonlyMap<string, ProxyBackend>;
  /** Key and chain, in PEM, by the name of the Secret. */
  readonly certificates: ReadonlyMap<string, string>;
  /** Which certificates a port has, with the hosts each is for. The first is for other hosts, too, unless they are refused. */
  readonly certificateLists: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
}

export interface ProxyBackend {
  readonly options: RouteOptions;
  /** By address: `10.244.1.2:80`, or one of `errorServers`. */
  readonly servers: ReadonlyMap<string, ProxyServer>;
}

export interface ProxyServer {
  /** Its share of the requests, up to `maxWeight`. */
  readonly weight: number;
  readonly protocol: ServerProtocol;
}

export const maxWeight = 256;

/** The list of certificates for the hosts of all Ingresses. */
export const ingressCertificates = "certificates";

/** Servers of the proxy itself, for the share of a backend that is not there: the status is what they answer. */
export const errorServers = { "@500": 500, "@503": 503 } as const;

/** A port of a gateway. What it does with TLS follows from its listeners; a plain one has none of the three. */
export interface ProxyFrontend {
  readonly id: string;
  /** Where the proxy listens, and which port clients know. */
  readonly port: number;
  readonly publicPort: number;
  /** Listeners whose names begin with `https-`, `terminate-` and `passthrough-`. */
  readonly hasHttps: boolean;
  readonly hasTermination: boolean;
  readonly hasPassthrough: boolean;
  /** Whether names without a certificate are refused. */
  readonly isStrict: boolean;
  /** Routes of sites where not only the path counts, the first match wins. */
  readonly conditional: readonly ConditionalRoute[];
}

export type HostTier = "exact" | "wildcard" | "any";

export interface ConditionalRoute {
  readonly site: string;
  /** How the site's name matches hosts. */
  readonly tier: HostTier;
  readonly match: RouteMatch;
  readonly backend: string;
}

export interface RouteMatch {
  readonly path: { readonly type: "Exact" | "Prefix" | "Pattern"; readonly value: string };
  readonly method?: string;
  readonly headers: readonly ValueMatch[];
  readonly query: readonly ValueMatch[];
}

export interface ValueMatch {
  readonly name: string;
  readonly value: string;
  readonly isPattern: boolean;
}

export const emptyProxyState: ProxyState = {
  sites: new Set(),
  exact: new Map(),
  prefixes: new Map(),
  patterns: new Map(),
  frontends: [],
  hosts: new Map(),
  wildcards: new Map(),
  backends: new Map(),
  certificates: new Map(),
  certificateLists: new Map(),
};
