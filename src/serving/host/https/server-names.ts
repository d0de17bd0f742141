// Which certificate a front shows: clients say the name of the server they want in the first message of TLS (SNI, RFC 6066).
import { createSecureContext, type SecureContext, type SecureContextOptions } from "node:tls";

/** A certificate with its chain, and its key, in PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

/** The certificate for a name that a client asks for, in lower case; undefined for the usual one. */
export type CertificateFor = (name: string) => ServingCertificate | undefined;

/** For Node's servers. What is common to all names is repeated in each context, which replaces that of the server. */
export function sniCallback(certificateFor: CertificateFor, commonNow: () => SecureContextOptions) {
  /** To read a certificate and a key takes a millisecond; whoever answers with the same object has them read once. */
  let contexts = new WeakMap<ServingCertificate, SecureContext>();
  let common = commonNow();
  const contextOf = (certificate: ServingCertificate): SecureContext => {
    if (common !== commonNow()) {
      common = commonNow();
      contexts = new WeakMap();
    }
    const known = contexts.get(certificate);
    if (known) return known;
    const context = createSecureContext({ ...common, cert: certificate.cert, key: certificate.key });
    contexts.set(certificate, context);
    return context;
  };
  return (name: string, done: (error: Error | null, context?: SecureContext) => void): void => {
    try {
      const certificate = certificateFor(name.toLowerCase());
      if (certificate) done(null, contextOf(certificate));
      else done(null);
    } catch (cause) {
      done(new Error(`certificate for ${name}`, { cause }));
    }
  };
}
