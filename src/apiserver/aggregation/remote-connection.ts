// How aggregated servers are reached.
import { type OutgoingRequest, Unreachable } from "#serving/proxy/outgoing.ts";
import type { HttpResponse } from "#wire/http.ts";

export interface RemoteTarget {
  /** Whose certificate is expected. */
  readonly host: string;
  readonly dialAddress: string;
  readonly port: number;
  /** In PEM; without it the authorities of the machine are believed. */
  readonly ca: string | undefined;
  readonly trustsAny: boolean;
}

export interface RemoteConnection {
  /** Sends a request with this server's certificate as a proxy. Throws Unreachable. */
  send(target: RemoteTarget, request: OutgoingRequest): Promise<HttpResponse>;
}

/** For servers that reach nobody: tests, and tools that only store objects. */
export const noRemoteConnection: RemoteConnection = {
  async send({ host }) {
    throw new Unreachable(`this server has no way to ${host}`);
  },
};
