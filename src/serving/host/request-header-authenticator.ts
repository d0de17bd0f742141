// A proxy in front of the server, such as an aggregator, says in headers who asks. It is believed if it shows a certificate of an authority
// that signs for such proxies and for nobody else, and only if its name is allowed.
// Follows apiserver/pkg/authentication/request/headerrequest upstream.
import { X509Certificate } from "node:crypto";
import type { Clock } from "#base/clock.ts";
import { DerError } from "#base/der.ts";
import type { User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { type Authenticator, refused } from "../authentication.ts";
import { inLowerCase, type RequestHeaderNames, type RequestHeaderTrust, unescapedKey } from "../request-headers.ts";
import { subjectOf } from "./certificate-authenticator.ts";

/** What a front calls the authority of the proxies. */
export const frontProxyAuthority = "front proxy";

interface Proxy {
  /** Undefined where the certificate names nobody that can be read. */
  readonly name: string | undefined;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export function requestHeaderAuthenticator(
  { names, allowedNames }: Omit<RequestHeaderTrust, "clientCa">,
  clock: Clock,
): Authenticator {
  const headers = inLowerCase(names);
  // A connection shows the same bytes with each request.
  const proxies = new WeakMap<Uint8Array, Proxy>();
  return (request) => {
    const { otherCertificate } = request;
    if (otherCertificate?.authority !== frontProxyAuthority) return undefined;
    const proxy = proxies.get(otherCertificate.bytes) ?? proxyOf(otherCertificate.bytes);
    proxies.set(otherCertificate.bytes, proxy);
    if (proxy.until <= clock.now()) return refused; // connections outlive certificates
    if (allowedNames.length > 0 && !allowedNames.some((name) => name === proxy.name)) return refused;
    return userIn(request, headers);
  };
}

function proxyOf(certificate: Uint8Array): Proxy {
  const until = Date.parse(new X509Certificate(certificate).validTo);
  try {
    return { name: subjectOf(certificate).commonName, until };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { name: undefined, until };
  }
}

function userIn(request: HttpRequest, names: RequestHeaderNames): User | undefined {
  const values = (name: string): readonly string[] =>
    (request.headerValues?.(name) ?? [request.headers[name] ?? ""]).filter((value) => value !== "");
  const first = (all: readonly string[]) => all.map((name) => values(name)[0]).find((value) => value !== undefined);
  const name = first(names.username);
  if (name === undefined) return undefined;
  const uid = first(names.uid);
  const extra = extraIn(request, names.extraPrefixes, values);
  return {
    name,
    ...(uid !== undefined && { uid }),
    groups: names.group.flatMap(values),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

function extraIn(
  { headers }: HttpRequest,
  prefixes: readonly string[],
  values: (name: string) => readonly string[],
): Record<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  for (const prefix of prefixes)
    for (const name of Object.keys(headers))
      if (name.startsWith(prefix)) {
        const key = unescapedKey(name.slice(prefix.length));
        extra.set(key, [...(extra.get(key) ?? []), ...values(name)]);
      }
  return Object.fromEntries(extra);
}
