// What the proxy is to do, without a word of any proxy's own language.
import type { RouteOptions } from "./annotations.ts";

export interface ProxyState {
  /** Hosts that have routes: `a.example`, `*.b.example`, and `*` for all others. */
  readonly sites: ReadonlySet<string>;
  /** The backend of each site and path: `a.example/x`. An exact path counts before a prefix, and a longer prefix before a shorter. */
  readonly exact: ReadonlyMap<string, string>;
  /** Prefixes end with a slash, so that they match whole parts of a path with a slash added; those that match any text do not. */
  readonly prefixes: ReadonlyMap<string, string>;
  /** Patterns, the longest first; each is for a site and a path. */
  readonly patterns: ReadonlyMap<string, string>;
  readonly backends: ReadonlyMap<string, ProxyBackend>;
  /** By the name of its Secret. */
  readonly certificates: ReadonlyMap<string, ProxyCertificate>;
}

export interface ProxyBackend {
  readonly options: RouteOptions;
  /** `10.244.1.2:80`. */
  readonly servers: ReadonlySet<string>;
}

export interface ProxyCertificate {
  /** Key and chain, in PEM. */
  readonly pem: string;
  readonly hosts: readonly string[];
}
