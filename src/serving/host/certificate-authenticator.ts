import { createHash, X509Certificate } from "node:crypto";
import type { Clock } from "#base/clock.ts";
import { DerError, derElement, derElements, derInside, derTag } from "#base/der.ts";
import { type DistinguishedName, parseDistinguishedName } from "#base/distinguished-name.ts";
import type { User } from "#wire/api-request.ts";
import { type Authenticator, asAuthenticated, refused } from "../authentication.ts";

interface Holder {
  readonly user: User | typeof refused | undefined;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/**
 * A client certificate names the user in its CN and the groups in its Os. The TLS layer has checked who signed it. One that it did
 * not find good, or whose authority signs no users, is no reason to take the client for a stranger: it is refused, unless it shows
 * something else that is good.
 */
export function certificateAuthenticator(clock: Clock): Authenticator {
  // A connection shows the same bytes with each request, and reading them takes 80 µs.
  const holders = new WeakMap<Uint8Array, Holder>();
  return ({ clientCertificate, otherCertificate, hasUntrustedCertificate }) => {
    if (!clientCertificate) return hasUntrustedCertificate || otherCertificate ? refused : undefined;
    let holder = holders.get(clientCertificate);
    if (!holder) {
      holder = holderOf(clientCertificate);
      holders.set(clientCertificate, holder);
    }
    // TLS looks at the dates when a connection begins, but connections outlive certificates.
    return holder.until > clock.now() ? holder.user : refused;
  };
}

function holderOf(clientCertificate: Uint8Array): Holder {
  const until = Date.parse(new X509Certificate(clientCertificate).validTo);
  const credential = `X509SHA256=${createHash("sha256").update(clientCertificate).digest("hex")}`;
  const extra = { "authentication.kubernetes.io/credential-id": [credential] };
  try {
    const { commonName: name, organizations: groups, uids } = subjectOf(clientCertificate);
    const [uid] = uids;
    if (uids.length > 1 || uid === "") return { user: refused, until }; // it could be read in two ways
    const user = { name, ...(uid !== undefined && { uid }), groups, extra };
    return { user: name === "" ? undefined : asAuthenticated(user), until };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { user: refused, until }; // OpenSSL takes names that Go does not read
  }
}

/** SEQUENCE { SEQUENCE { [0] version, INTEGER serial, algorithm, Name issuer, SEQUENCE { from, to }, Name subject, … }, … } */
export function subjectOf(certificate: Uint8Array): DistinguishedName {
  const [body] = derElements(derInside(derElement(certificate), derTag.sequence));
  const fields = derElements(derInside(body, derTag.sequence));
  const subject = fields[fields[0]?.tag === versionTag ? 5 : 4];
  return parseDistinguishedName(derInside(subject, derTag.sequence));
}

const versionTag = 0xa0;
