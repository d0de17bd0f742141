// The only place that knows the form of tokens: JSON Web Signatures with RSA or elliptic-curve keys.
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { CompactSign, compactVerify, decodeJwt, decodeProtectedHeader, errors } from "jose";
import { TokenError } from "#serving/authentication.ts";
import type { TokenKeys } from "../authentication/service-account-tokens.ts";

/** Signs with one key and verifies with all; each is PEM. Throws an Error that says which key is of no use. */
export function tokenKeys(signing: string, others: readonly string[] = []): TokenKeys {
  const privateKey = createPrivateKey(signing);
  const publicKeys = [createPublicKey(privateKey), ...others.map((pem) => createPublicKey(pem))].map((key) => ({
    key,
    kid: keyId(key),
    alg: algorithmOf(key),
  }));
  const [own] = publicKeys;
  if (!own) throw new Error("there is no key to sign with");
  const byId = new Map(publicKeys.map((one) => [one.kid, one]));
  const encoder = new TextEncoder();

  return {
    keySet: {
      keys: [...byId.values()].map(({ key, kid, alg }) => ({ use: "sig", kid, alg, ...key.export({ format: "jwk" }) })),
    },

    sign: (claims) =>
      new CompactSign(encoder.encode(JSON.stringify(claims)))
        .setProtectedHeader({ alg: own.alg, kid: own.kid })
        .sign(privateKey),

    claimedIssuer: claimedIssuerOf,

    async verify(token) {
      const kid = keyIdOf(token);
      const candidates = kid === undefined ? [...byId.values()] : [byId.get(kid)].filter((one) => one !== undefined);
      return verifiedBy(candidates, token);
    },
  };
}

/** A public key, and the one algorithm that it is good for. */
export interface VerificationKey {
  readonly key: KeyObject;
  readonly alg: string;
}

/** Which key a token says that it was signed with, before anything of it is believed. */
export const keyIdOf = (token: string): string | undefined =>
  unlessMalformed(() => decodeProtectedHeader(token).kid) || undefined;

/** What a token says if one of the keys signed it. Throws TokenError if none did. */
export async function verifiedBy(candidates: readonly VerificationKey[], token: string): Promise<Uint8Array> {
  if (candidates.length === 0) throw new TokenError("invalid signature, no keys found");
  for (const { key, alg } of candidates) {
    try {
      // Only the algorithm of the key will do: the token has no say in how it is checked.
      return (await compactVerify(token, key, { algorithms: [alg] })).payload;
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error; // of another key, or of none
    }
  }
  throw new TokenError("invalid signature");
}

/** Who a token says it is from, before anything of it is believed; undefined of what is no token. */
export const claimedIssuerOf = (token: string): string | undefined =>
  token.split(".").length === 3 ? unlessMalformed(() => decodeJwt(token).iss) : undefined;

/** A digest of the public key, so that an id never gives away a key that is not published. */
const keyId = (key: KeyObject): string =>
  createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("base64url");

const curves: Readonly<Record<string, string>> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" };

export function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  const alg = asymmetricKeyType === "rsa" ? "RS256" : curves[asymmetricKeyDetails?.namedCurve ?? ""];
  if (alg === undefined)
    throw new Error(`keys of service accounts are RSA or elliptic of 256, 384 or 521 bits, not ${asymmetricKeyType}`);
  return alg;
}

/** What a stranger's text says, or undefined if it says nothing. */
function unlessMalformed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    // jose throws its own errors or TypeErrors for what is no token; neither is anybody's fault but the sender's
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof SyntaxError)
      return undefined;
    throw error;
  }
}
