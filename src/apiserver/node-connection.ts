// How the API server reaches what runs in the cluster. It speaks HTTP to kubelets and pods alike, and an upgrade is an answer
// like any other; so a kubelet in the same process can stand behind this as well as one across a network.
import { ApiError } from "#base/errors.ts";
import type { HttpResponse } from "#wire/http.ts";
import type { SpdyCompression } from "#wire/streams/spdy.ts";

/** A request on its way into the cluster. */
export interface OutgoingRequest {
  readonly method: string;
  /** Path and query, escaped. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly content?: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

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

/** A server in the cluster network, whose certificate says nothing we could check. */
export interface Origin {
  readonly scheme: "http" | "https";
  readonly host: string;
  /** The scheme's own unless told. */
  readonly port?: number;
  readonly dialAddress?: string;
}

export interface NodeConnection {
  /** Which of a node's addresses leads to its kubelet, the best first; upstream's order unless told. */
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

/** Nobody answered. The message says why, as in `dial tcp 10.0.0.7:10250: connect: connection refused`. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

/** Names a failure to reach something in upstream's words; other errors are passed on. */
export function unreachable(error: unknown, code: 500 | 503, what: string): unknown {
  if (!(error instanceof Unreachable)) return error;
  const reason = code === 503 ? "ServiceUnavailable" : "";
  return new ApiError({ code, reason, message: `${what}: ${error.message}` }, { cause: error });
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
