// The older tokens of service accounts, which are kept in secrets and live as long as these: still made for secrets of type
// kubernetes.io/service-account-token, and still good for the server itself.

import { Secret } from "#api/core/v1/secret.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { textToBase64 } from "#base/base64.ts";
import { legacyClaims, legacyIssuer } from "#rules/legacy-tokens.ts";
import { decodeUtf8, parseJson } from "#schema/json.ts";
import { TokenError } from "#serving/authentication.ts";
import { keyPrefix } from "../store-follower.ts";
import type { CacheOf } from "../watch-cache.ts";
import { isSameText } from "./same-text.ts";
import { serviceAccountUser, type TokenKeys } from "./service-account-tokens.ts";
import type { TokenAuthenticator } from "./token-authenticators.ts";

const invalidSince = "kubernetes.io/legacy-token-invalid-since";

export interface LegacyTokenOptions {
  readonly keys: TokenKeys;
  /** Names of the server itself: for others these tokens are never good. */
  readonly audiences: readonly string[];
  readonly cacheOf: CacheOf;
}

interface LegacyClaims {
  readonly namespace: string;
  readonly secret: string;
  readonly account: string;
  readonly uid: string;
}

export const legacyTokens =
  ({ keys, audiences, cacheOf }: LegacyTokenOptions): TokenAuthenticator =>
  async (token, asked) => {
    if (keys.claimedIssuer(token) !== legacyIssuer) return undefined;
    const { namespace, secret: secretName, account: name, uid } = claimsIn(await keys.verify(token));
    const good = audiences.filter((audience) => asked.includes(audience));
    if (good.length === 0) throw new TokenError("token audiences are invalid for the target audiences");

    const secret = cacheOf(Secret).get(`${keyPrefix(Secret)}${namespace}/${secretName}`)?.object;
    if (!secret || secret.metadata.deletionTimestamp !== undefined) throw new TokenError("Token has been invalidated");
    if (!isSameText(String(secret.data?.token ?? ""), textToBase64(token)))
      throw new TokenError("Token does not match server's copy");
    const account = cacheOf(ServiceAccount).get(`${keyPrefix(ServiceAccount)}${namespace}/${name}`)?.object;
    if (!account) throw new TokenError(`serviceaccounts ${JSON.stringify(name)} not found`);
    if (account.metadata.deletionTimestamp !== undefined)
      throw new TokenError(`ServiceAccount ${namespace}/${name} has been deleted`);
    if (account.metadata.uid !== uid)
      throw new TokenError(`ServiceAccount UID (${account.metadata.uid}) does not match claim (${uid})`);
    if (secret.metadata.labels?.[invalidSince])
      throw new TokenError(
        `the token in secret ${namespace}/${secretName} for service account ${namespace}/${name} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '${invalidSince}' label from the secret to temporarily allow use of this token`,
      );
    return { user: serviceAccountUser(namespace, name, uid), audiences: good };
  };

function claimsIn(payload: Uint8Array): LegacyClaims {
  const value = parseJson(decodeUtf8(payload)).value as Readonly<Record<string, unknown>>;
  const claim = (name: string, called: string): string => {
    const text = value[name];
    if (typeof text !== "string" || text === "") throw new TokenError(`${called} claim is missing`);
    return text;
  };
  const subject = claim("sub", "sub");
  const namespace = claim(legacyClaims.namespace, "namespace");
  const secret = claim(legacyClaims.secret, "secretName");
  const account = claim(legacyClaims.account, "serviceAccountName");
  const uid = claim(legacyClaims.uid, "serviceAccountUID");
  if (subject !== `system:serviceaccount:${namespace}:${account}`) throw new TokenError("sub claim is invalid");
  return { namespace, secret, account, uid };
}
