// A way to carry traffic for services on a node. `modes/list.ts` is the list of the modes; `proxy.ts` decides what a mode is to do, as
// upstream's Provider interface asks it of its modes.
// Upstream: pkg/proxy/types.go.
import type { Forwarder } from "./forwarder.ts";
import type { Frontend, FrontendFamily } from "./frontends.ts";

/** All frontends that a service has in one address family by now; none if the service is gone. */
export interface FrontendChange {
  /** `namespace/name`. */
  readonly service: string;
  readonly family: FrontendFamily;
  readonly frontends: readonly Frontend[];
}

/**
 * Remembers the frontends of all services, and keeps the node as they say. A call that rejects leaves the node in an unknown state, but
 * its changes remembered: the proxy calls `rewrite` next.
 */
export interface ProxyMode {
  readonly name: string;
  /** Rejects with what the node lacks for this mode, and how to get it; absent for a mode that works on every node. */
  check?(signal: AbortSignal): Promise<void>;
  /** Takes over the changes, and replaces whatever is on the node by all that is remembered. The first sync is one of these. */
  rewrite(changes: readonly FrontendChange[], signal: AbortSignal): Promise<void>;
  /** Takes over the changes, and changes no more on the node than they need. */
  change(changes: readonly FrontendChange[], signal: AbortSignal): Promise<void>;
  /** Removes what was kept for connections that have ended since; called now and then. */
  tidy?(signal: AbortSignal): Promise<void>;
  /** Whether nobody else has removed what this mode put there; absent for a mode that does not need to look. */
  isIntact?(signal: AbortSignal): Promise<boolean>;
  /** Removes all that this mode may have left on the node, in this process or an earlier one. */
  cleanup(signal: AbortSignal): Promise<void>;
}

/** Runs a program on the node, and resolves with its output. */
export type RunOnNode = (
  command: readonly string[],
  options: { readonly input?: string; readonly signal: AbortSignal },
) => Promise<string>;

/** What every mode is made from. */
export interface ProxyModeOptions {
  readonly run: RunOnNode;
  readonly families: readonly FrontendFamily[];
  /** Networks of pods: traffic from elsewhere to a cluster address is masqueraded. */
  readonly podRanges: readonly string[];
  /** Whether traffic from pods to a cluster address is masqueraded as well. */
  readonly masqueradeAll?: boolean;
  /** The bit that is set on packets whose sender is to be replaced; defaults to 0x4000. */
  readonly markBit?: number;
  /** Whether node ports answer at the loopback addresses of the node, where the mode can have it so. */
  readonly localhostNodePorts?: boolean;
  /** Networks: only addresses of the node in these have node ports. None means all addresses do. */
  readonly nodePortRanges?: readonly string[];
  /** Carries connections on the node, for the mode that leaves that to a process. */
  readonly forwarder?: Forwarder;
  /** Addresses of the node. */
  readonly nodeAddresses?: readonly string[];
  /** What only the mode of that name is told. */
  readonly ipvs?: IpvsOptions;
}

export interface IpvsOptions {
  /** How a virtual server chooses among its destinations; defaults to rr. */
  readonly scheduler?: string;
  /** Virtual servers with addresses in these networks belong to others. */
  readonly excludeRanges?: readonly string[];
  /** Whether neighbours are not told that the node has the addresses of services. */
  readonly strictArp?: boolean;
  /** After how many idle seconds connections are forgotten; 0 leaves that as it is. */
  readonly tcpSeconds?: number;
  /** The same after the end of a connection was sent. */
  readonly tcpFinSeconds?: number;
  readonly udpSeconds?: number;
}

export type MakeProxyMode = (options: ProxyModeOptions) => ProxyMode;
