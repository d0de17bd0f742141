import { OutgoingConnections } from "#serving/host/outgoing-connections.ts";
import type { RemoteConnection, RemoteTarget } from "../aggregation/remote-connection.ts";

/** Servers that are spoken to in one way share connections; whoever is spoken to in a new way replaces the one least used. */
const mostKinds = 64;

export interface RemoteConnections extends RemoteConnection {
  /** Drops the connections that wait to be used again. */
  close(): void;
}

interface ClientPair {
  readonly cert: string;
  readonly key: string;
}

/** Reaches aggregated servers over the network, as whom the certificate of the moment names. */
export function remoteConnections(clientNow: () => ClientPair | undefined): RemoteConnections {
  let client = clientNow();
  const byTrust = new Map<string, OutgoingConnections>();
  const connectionsFor = ({ ca, trustsAny }: RemoteTarget): OutgoingConnections => {
    if (client?.cert !== clientNow()?.cert) {
      client = clientNow();
      for (const connections of byTrust.values()) connections.close(); // those under way go on
      byTrust.clear();
    }
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
