// How a stand-alone part reaches the API: over HTTPS, as the user of its kubeconfig or as a service account.
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { Component } from "#base/supervise.ts";
import { Client, type Transport } from "#client/client.ts";
import type { Discovery } from "#client/discovery.ts";
import { fenced } from "#client/election.ts";
import { clientPair, connection, pageSize } from "#client/host/connect.ts";
import type { ClientPair } from "#client/host/http2-session.ts";
import { httpsTransport } from "#client/host/https-transport.ts";
import type { Metrics } from "#client/metrics.ts";
import { ServerDiscovery } from "#client/server-discovery.ts";
import * as identities from "../identities.ts";
import { lookMs } from "../live-certificates.ts";
import { kubernetesVersion } from "../version.ts";
import { ControllerTokens } from "./account-tokens.ts";

export interface AccessOptions {
  readonly kubeconfig: string | undefined;
  /** Names the writer in managedFields. */
  readonly part: string;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Called before each write of the part; false refuses the write. */
  readonly mayWrite: () => boolean;
  /** Where to connect to at the moment, if there are several API servers. */
  readonly serverNow?: () => string;
}

export interface ClusterAccess {
  /** Acts as the user of the kubeconfig, without the check before writes: for leader election. */
  readonly ownClient: Client;
  /** Acts as the user of the kubeconfig. */
  readonly client: Client;
  /** A client that acts as an account of kube-system, with a token of its own. */
  clientFor(serviceAccount: string): Client;
  /** What the API server's certificate is checked against, in PEM; empty if the kubeconfig names nothing. */
  readonly ca: string;
  /** Discovery of the kinds that the server serves, as the user of the kubeconfig. */
  readonly discovery: Discovery;
  /** Shows the server a new certificate when the kubeconfig has one. */
  readonly renewal: Component;
  /** Ends connections and what is under way on them; what comes goes over new ones. */
  drop(): void;
  close(): void;
}

export async function accessApi(options: AccessOptions): Promise<ClusterAccess> {
  const { kubeconfig, part, clock, metrics, mayWrite, serverNow } = options;
  const { signal } = new AbortController();
  const place = { explicit: kubeconfig, env: process.env };
  const https = { ...(await connection({ ...place, clock })), metrics, ...(serverNow && { serverNow }) };
  const userAgent = `${part}/${kubernetesVersion}`;
  let pair: ClientPair | undefined;
  const own = httpsTransport({ ...https, pair: () => pair });
  const user = { name: "", groups: [] }; // the server knows us by our credentials
  const ownClient = new Client({ transport: own.transport, user, userAgent, signal, pageSize });
  const tokens = new ControllerTokens(ownClient, clock);
  // One connection for all accounts, without a certificate: that would count before the token.
  const { cert: _cert, key: _key, ...anonymous } = https;
  const accounts = httpsTransport({
    ...anonymous,
    authorization: async (user) => user && `Bearer ${await tokens.of(accountIn(user.name))}`,
  });
  const asAccount: Transport = async (request) => {
    try {
      return await accounts.transport(request);
    } catch (error) {
      if (error instanceof ApiError && error.code === 401) tokens.forget(accountIn(request.user.name));
      throw error;
    }
  };
  const transport = fenced(asAccount, mayWrite);
  const drop = () => {
    own.close();
    accounts.close();
  };
  return {
    ca: https.ca === undefined ? "" : String(https.ca),
    ownClient,
    client: new Client({ transport: fenced(own.transport, mayWrite), user, userAgent, signal, pageSize }),
    discovery: new ServerDiscovery((path, options) => own.document(path, { ...options, userAgent })),
    clientFor: (name) => new Client({ transport, user: identities.serviceAccount(name), userAgent, signal, pageSize }),
    renewal: {
      name: "client certificate",
      async run(stop) {
        while (!stop.aborted) {
          await clock.sleep(lookMs, stop).catch(() => undefined); // aborted: the loop ends
          // One that cannot be read now is read in a minute; until then we go on with what we have.
          const now =
            stop.aborted || https.cert === undefined ? undefined : await clientPair(place).catch(() => undefined);
          if (now === undefined || now.cert === (pair?.cert ?? https.cert)) continue;
          pair = now;
          own.reconnect();
        }
      },
    },
    drop,
    close: drop,
  };
}

const accountIn = (user: string): string => user.slice(user.lastIndexOf(":") + 1);
