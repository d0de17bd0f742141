// Which authority vouches for a client. TLS checks certificates against all authorities of a front at once and does not tell which of
// them it was, but that decides what a client may say: the authority of the front proxies lets its holders speak for any user.
import { X509Certificate } from "node:crypto";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import type { HttpRequest } from "#wire/http.ts";

export interface ClientAuthoritiesOptions {
  /** In PEM: the authorities whose clients are users. */
  readonly clientCa?: string | undefined;
  /** In PEM: further authorities, by what they are for. Their clients are no users: a request says which authority vouches for its client. */
  readonly otherClientCas?: Readonly<Record<string, string>> | undefined;
}

type Certificates = Pick<HttpRequest, "clientCertificate" | "otherCertificate" | "hasUntrustedCertificate">;

export class ClientAuthorities {
  /** All of them, as TLS wants to know them; none if no client is known. */
  readonly pems: readonly string[];
  readonly #users: readonly X509Certificate[];
  readonly #isLater: boolean;
  readonly #others: readonly (readonly [string, readonly X509Certificate[]])[];

  /** With `isLater` they have replaced others: TLS may have found a certificate good by those. */
  constructor({ clientCa, otherClientCas = {} }: ClientAuthoritiesOptions, isLater = false) {
    this.#isLater = isLater;
    this.pems = [...(clientCa === undefined ? [] : [clientCa]), ...Object.values(otherClientCas)];
    this.#others = Object.entries(otherClientCas).map(([name, pem]) => [name, certificatesIn(pem)]);
    this.#users = clientCa === undefined || !this.#asksWho ? [] : certificatesIn(clientCa);
  }

  get #asksWho(): boolean {
    return this.#isLater || this.#others.length > 0;
  }

  /** What the certificate that a client has shown, and TLS has found good, counts for. */
  vouchFor(socket: TLSSocket): Certificates {
    const bytes = socket.getPeerCertificate().raw;
    if (!this.#asksWho) return { clientCertificate: bytes };
    const chain = chainOf(socket);
    const [authority] = this.#others.find(([, certificates]) => isSigned(chain, certificates)) ?? [];
    const isUser = isSigned(chain, this.#users);
    return {
      clientCertificate: isUser ? bytes : undefined,
      hasUntrustedCertificate: !isUser && authority === undefined,
      ...(authority !== undefined && { otherCertificate: { authority, bytes } }),
    };
  }
}

const certificatesIn = (pem: string): readonly X509Certificate[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (one) => new X509Certificate(one),
  );

/** The certificate that was shown, and those that Node takes for its issuers. It goes by their names: signatures are for us to check. */
function chainOf(socket: TLSSocket): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  let one: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  for (let last: DetailedPeerCertificate | undefined; one && one !== last; ) {
    chain.push(new X509Certificate(one.raw));
    [last, one] = [one, one.issuerCertificate];
  }
  return chain;
}

/** Whether the first certificate of a chain was signed by one of the authorities, or by an issuer in the chain that was. */
function isSigned(chain: readonly X509Certificate[], authorities: readonly X509Certificate[]): boolean {
  for (const [i, certificate] of chain.entries()) {
    if (authorities.some((authority) => isIssuer(authority, certificate))) return true;
    const next = chain[i + 1];
    if (!next || !isIssuer(next, certificate)) return false;
  }
  return false;
}

const isIssuer = (issuer: X509Certificate, certificate: X509Certificate): boolean =>
  issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
