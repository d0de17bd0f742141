// Who is at the other end of a connection, as far as TLS knows.
import type { IncomingMessage } from "node:http";
import type { Http2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { HttpRequest } from "#wire/http.ts";
import type { ClientAuthorities } from "./client-authorities.ts";

export interface Peer {
  readonly clientCertificate: Uint8Array | undefined;
  readonly otherCertificate: HttpRequest["otherCertificate"];
  readonly hasUntrustedCertificate: boolean;
  readonly remoteAddress: string;
  readonly isUnsecured: boolean;
}

const stranger: Peer = {
  clientCertificate: undefined,
  otherCertificate: undefined,
  hasUntrustedCertificate: false,
  remoteAddress: "",
  isUnsecured: false,
};

export const unsecuredPeer = ({ socket }: IncomingMessage): Peer => ({
  ...stranger,
  remoteAddress: socket.remoteAddress ?? "",
  isUnsecured: true,
});

/** To ask TLS for a certificate takes 100 µs: that is done once for a connection, not for each request. */
export class Peers {
  #authorities: ClientAuthorities;
  /** By the socket, or by the HTTP/2 session, whose socket is behind a proxy that is slow to ask. */
  #known = new WeakMap<TLSSocket | Http2Session, Peer>();

  constructor(authorities: ClientAuthorities) {
    this.#authorities = authorities;
  }

  /** From now on others vouch for clients, also for those that are connected. */
  trust(authorities: ClientAuthorities): void {
    this.#authorities = authorities;
    this.#known = new WeakMap();
  }

  of(connection: TLSSocket | Http2Session | undefined): Peer {
    if (!connection) return stranger;
    const known = this.#known.get(connection);
    if (known) return known;
    const socket = "getPeerCertificate" in connection ? connection : (connection.socket as TLSSocket);
    const shown: Buffer | undefined = socket.getPeerCertificate().raw;
    const peer: Peer = {
      ...stranger,
      ...(shown !== undefined && (socket.authorized ? this.#authorities.vouchFor(socket) : untrusted)),
      remoteAddress: socket.remoteAddress ?? "",
    };
    this.#known.set(connection, peer);
    return peer;
  }
}

const untrusted = { hasUntrustedCertificate: true };
