import { createHash, X509Certificate } from "node:crypto";
import type { Clock } from "#base/clock.ts";
import type { User } from "#wire/api-request.ts";
import { type Authenticator, asAuthenticated } from "../authentication/authenticator.ts";

interface Holder {
  readonly user: User | undefined;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** A client certificate names the user in its CN and the groups in its Os. The TLS layer has checked who signed it. */
export function certificateAuthenticator(clock: Clock): Authenticator {
  // A connection shows the same bytes with each request, and reading them takes 80 µs.
  const holders = new WeakMap<Uint8Array, Holder>();
  return ({ clientCertificate }) => {
    if (!clientCertificate) return undefined;
    let holder = holders.get(clientCertificate);
    if (!holder) {
      holder = holderOf(clientCertificate);
      holders.set(clientCertificate, holder);
    }
    // TLS looks at the dates when a connection begins, but connections outlive certificates.
    return holder.until > clock.now() ? holder.user : undefined;
  };
}

function holderOf(clientCertificate: Uint8Array): Holder {
  const { subject, validTo } = new X509Certificate(clientCertificate);
  const lines = subject.split("\n");
  const values = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
  const [name] = values("CN");
  const credential = `X509SHA256=${createHash("sha256").update(clientCertificate).digest("hex")}`;
  const extra = { "authentication.kubernetes.io/credential-id": [credential] };
  const user = name === undefined ? undefined : asAuthenticated({ name, groups: values("O"), extra });
  return { user, until: Date.parse(validTo) };
}
