// How others learn to check the tokens of service accounts: OpenID Connect Discovery, as far as tokens go that nobody logs in with.
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { isProduced } from "#wire/negotiate.ts";
import { nothingProduced } from "#wire/status.ts";

export interface Issuer {
  readonly issuers: readonly string[];
  readonly keys: {
    readonly keySet: { readonly keys: readonly { readonly alg?: string }[] };
    /** How long others may keep them; an hour by default. */
    readonly keySetSeconds?: number;
  };
  /** Where others find the keys; defaults to this server. */
  readonly keySetUrl?: string | undefined;
}

export const configurationPath = "/.well-known/openid-configuration";
export const keySetPath = "/openid/v1/jwks";
const kept = ({ keySetSeconds = 3600 }: Issuer["keys"]) => ({ "cache-control": `public, max-age=${keySetSeconds}` });

/** Caches keep the answer, so nothing of it may come from the request: a client with a Host of its own would lead others to its keys. */
export function issuerConfiguration({ issuers, keys, keySetUrl }: Issuer, external: string): HttpResponse | undefined {
  const [issuer = ""] = issuers;
  // The discovery of OpenID knows no other issuers than plain https addresses.
  if (!/^https:\/\/[^?#]+$/.test(issuer)) return undefined;
  const content = {
    issuer,
    jwks_uri: keySetUrl ?? `https://${external}${keySetPath}`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(keys.keySet.keys.flatMap(({ alg }) => alg ?? []))].sort(),
  };
  return { code: 200, headers: { "content-type": "application/json", ...kept(keys) }, body: JSON.stringify(content) };
}

const keySetType = "application/jwk-set+json";

export function keySet({ headers }: HttpRequest, { keys }: Issuer): HttpResponse {
  if (!isProduced(headers.accept ?? "", [{ mediaType: keySetType, streams: false }]))
    throw nothingProduced([keySetType]);
  return { code: 200, headers: { "content-type": keySetType, ...kept(keys) }, body: JSON.stringify(keys.keySet) };
}
