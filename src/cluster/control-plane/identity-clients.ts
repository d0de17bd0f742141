// Clients of an API server over the network, for the parts of a process that has the authority of the cluster: each comes with a certificate
// of its own, so it may do what it may do in the process of the server, and nothing else.
import type { Clock } from "#base/clock.ts";
import { Client } from "#client/client.ts";
import { fenced } from "#client/election.ts";
import { pageSize } from "#client/host/connect.ts";
import { type HttpsTransport, httpsTransport } from "#client/host/https-transport.ts";
import type { Metrics } from "#client/metrics.ts";
import type { User } from "#wire/api-request.ts";
import type { Certificates } from "../certificates.ts";
import { kubernetesVersion } from "../version.ts";

export interface IdentityClientsOptions {
  /** `https://host:port`. */
  readonly server: string;
  /** Of the server, in PEM. */
  readonly ca: string;
  readonly certificates: Certificates;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Whom the API server counts as this already, without being told. */
const everybody = "system:authenticated";

export class IdentityClients {
  readonly #options: IdentityClientsOptions;
  readonly #transports = new Map<string, HttpsTransport>();
  readonly #signal = new AbortController().signal;

  constructor(options: IdentityClientsOptions) {
    this.#options = options;
  }

  /** One with `mayWrite` refuses writes whenever that says no. */
  clientFor(user: User, part: string, mayWrite?: () => boolean): Client {
    const own = this.#transportOf(user).transport;
    const transport = mayWrite ? fenced(own, mayWrite) : own;
    return new Client({ transport, user, userAgent: userAgentOf(part), signal: this.#signal, pageSize });
  }

  /** What the server answers under a path that is not an object's. */
  read(user: User, path: string, signal: AbortSignal): Promise<string> {
    return this.#transportOf(user).read(path, { userAgent: userAgentOf("knarr"), signal });
  }

  /** Has everyone show the certificate that is good now. */
  renew(): void {
    for (const { reconnect } of this.#transports.values()) reconnect();
  }

  close(): void {
    for (const { close } of this.#transports.values()) close();
  }

  #transportOf(user: User): HttpsTransport {
    const { server, ca, certificates, clock, metrics } = this.#options;
    const name = user.name.replace(/^system:/, "").replaceAll(":", "-");
    const identity = { commonName: user.name, organizations: user.groups.filter((group) => group !== everybody) };
    const transport =
      this.#transports.get(user.name) ??
      httpsTransport({ server, ca, clock, metrics, pair: () => certificates.issue(`client-${name}`, identity) });
    this.#transports.set(user.name, transport);
    return transport;
  }
}

const userAgentOf = (part: string): string => `${part}/${kubernetesVersion}`;
