// How the API server reaches what runs in the cluster. It speaks HTTP to kubelets and pods alike, and an upgrade is an answer
// like any other; so a kubelet in the same process can stand behind this as well as one across a network.
import { type Origin, type OutgoingRequest, Unreachable } from "#serving/proxy/outgoing.ts";
import type { HttpResponse } from "#wire/http.ts";
import type { SpdyCompression } from "#wire/streams/spdy.ts";

export interface KubeletEndpoint {
  readonly node: string;
  /** The address the node reports, and the port its kubelet serves. */
  readonly host: string;
  readonly port: number;
  /** The address to dial, where that of the host was looked up already; the host is still whose certificate is expected. */
  readonly dialAddress?: string;
  /** Whether the kubelet's certificate need not be checked. */
  readonly trustsAny?: boolean;
}

export interface NodeConnection {
  /** Which of a node's addresses leads to its kubelet, the best first; defaults to upstream's order. */
  readonly addressTypes?: readonly string[];
  /** Sends a request to a kubelet, with the API server's own credentials. Throws Unreachable. */
  kubelet(endpoint: KubeletEndpoint, request: OutgoingRequest): Promise<HttpResponse>;
  /** Sends a request to a pod or another server, without credentials. Throws Unreachable. */
  fetch(origin: Origin, request: OutgoingRequest): Promise<HttpResponse>;
  /** The addresses of a host; an address is its own. */
  resolve(host: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Header compression for a kubelet that has to be spoken to in SPDY. */
  spdyCompression(): SpdyCompression;
}

/** For servers that reach no nodes: tests, and tools that only store objects. */
export const noConnection: NodeConnection = {
  kubelet: async ({ node }) => {
    throw new Unreachable(`this server has no way to node ${node}`);
  },
  fetch: async ({ host }) => {
    throw new Unreachable(`this server has no way to ${host}`);
  },
  resolve: async (host) => [host],
  spdyCompression() {
    throw new Unreachable("this server has no way to any node");
  },
};
