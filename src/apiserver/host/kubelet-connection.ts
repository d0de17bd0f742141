import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { OutgoingConnections } from "#serving/host/outgoing-connections.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import type { NodeConnection } from "../node-connection.ts";

export interface KubeletConnectionOptions {
  /** Who we are to kubelets, in PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** Whose certificates kubelets must show, in PEM. Without it any is believed, as upstream does. */
  readonly ca?: string;
}

export interface KubeletConnection extends NodeConnection {
  /** Connections that are made from now on show and believe these; those that wait to be used again are dropped. */
  renew(options: KubeletConnectionOptions): void;
  /** Drops the connections that wait to be used again. */
  close(): void;
}

/** Reaches kubelets and pods over the network. */
export function kubeletConnection(
  options: KubeletConnectionOptions,
  addressTypes?: NodeConnection["addressTypes"],
): KubeletConnection {
  let { checked, unchecked } = connectionsBy(options);
  const anonymous = new OutgoingConnections({ rejectUnauthorized: false });
  const plain = new OutgoingConnections();
  return {
    ...(addressTypes && { addressTypes }),
    kubelet: (endpoint, request) => (endpoint.trustsAny ? unchecked : checked).send(endpoint, request),
    fetch: (origin, request) => (origin.scheme === "https" ? anonymous : plain).send(origin, request),
    async resolve(host) {
      if (isIP(host) !== 0) return [host];
      return (await lookup(host, { all: true })).map(({ address }) => address);
    },
    spdyCompression,
    renew(now) {
      const before = [checked, unchecked];
      ({ checked, unchecked } = connectionsBy(now));
      for (const connections of before) connections.retire();
    },
    close() {
      for (const connections of [checked, unchecked, anonymous, plain]) connections.close();
    },
  };
}

function connectionsBy({ cert, key, ca }: KubeletConnectionOptions) {
  const identity = { ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
  const authority = { ...(ca !== undefined && { ca }), rejectUnauthorized: ca !== undefined };
  return {
    checked: new OutgoingConnections({ ...identity, ...authority }),
    unchecked: new OutgoingConnections({ ...identity, rejectUnauthorized: false }),
  };
}
