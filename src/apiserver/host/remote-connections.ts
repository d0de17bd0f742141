import { OutgoingConnections } from "#serving/host/outgoing-connections.ts";
import type { RemoteConnection, RemoteTarget } from "../aggregation/remote-connection.ts";

/** Servers that are spoken to in one way share connections; whoever is spoken to in a new way replaces the one least used. */
const mostKinds = 64;

export interface RemoteConnections extends RemoteConnection {
  /** Drops the connections that wait to be used again. */
  close(): void;
}

/** Reaches aggregated servers over the network, as whom this certificate names. */
export function remoteConnections(
  client: { readonly cert: string; readonly key: string } | undefined,
): RemoteConnections {
  const byTrust = new Map<string, OutgoingConnections>();
  const connectionsFor = ({ ca, trustsAny }: RemoteTarget): OutgoingConnections => {
    const key = trustsAny ? "any" : `ca ${ca ?? ""}`;
    const present =
      byTrust.get(key) ??
      new OutgoingConnections({ ...client, rejectUnauthorized: !trustsAny, ...(ca !== undefined && { ca }) });
    byTrust.delete(key);
    byTrust.set(key, present);
    for (const [oldest, connections] of byTrust) {
      if (byTrust.size <= mostKinds) break;
      byTrust.delete(oldest);
      connections.close();
    }
    return present;
  };
  return {
    send: async (target, request) => connectionsFor(target).send(target, request),
    close() {
      for (const connections of byTrust.values()) connections.close();
    },
  };
}
