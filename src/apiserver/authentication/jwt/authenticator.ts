// Tokens of other issuers: JSON Web Tokens that a key of the issuer has signed, as OpenID Connect has them. Only tokens that name an issuer of ours
// are looked at; of those everything is checked before anything is believed.
import type { Clock } from "#base/clock.ts";
import { isObject } from "#base/is-object.ts";
import { DecodeError, decodeUtf8, parseJson } from "#schema/json.ts";
import { TokenError } from "#serving/authentication.ts";
import type { TokenAuthenticator } from "../token-authenticators.ts";
import { type UserClaims, userOfClaims } from "./claims.ts";
import type { JwtSettings } from "./settings.ts";

/** The keys of an issuer, as they are now. */
export interface IssuerKeys {
  /** What a token says if a key of the issuer signed it by one of these algorithms. Throws TokenError. */
  verify(token: string, algorithms: readonly string[]): Promise<Uint8Array>;
}

export interface JwtIssuer {
  readonly settings: JwtSettings;
  readonly keys: IssuerKeys;
}

/** Clocks may differ by this much where a token is not good yet. */
const leewaySeconds = 300;

/** `issuers` are asked for with each token, since their configuration may change. */
export const jwtTokens =
  (
    issuers: () => readonly JwtIssuer[],
    claimedIssuer: (token: string) => string | undefined,
    { clock, audiences: ownAudiences }: { readonly clock: Clock; readonly audiences: readonly string[] },
  ): TokenAuthenticator =>
  async (token, audiences) => {
    const known = issuers();
    if (known.length === 0) return undefined;
    const claimed = claimedIssuer(token);
    const issuer = claimed === undefined ? undefined : known.find(({ settings }) => settings.issuer.url === claimed);
    if (!issuer) return undefined;
    // Such tokens are for this server, whatever their own audiences are called.
    const good = ownAudiences.filter((audience) => audiences.includes(audience));
    if (good.length === 0) return undefined;
    const { settings, keys } = issuer;
    const claims = claimsIn(await keys.verify(token, settings.algorithms));
    checkClaims(settings, claims, clock);
    return { user: userOfClaims(settings, claims), audiences: good };
  };

function claimsIn(payload: Uint8Array): UserClaims {
  try {
    const { value } = parseJson(decodeUtf8(payload));
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
  }
  throw new TokenError("oidc: parse claims: not a JSON object");
}

function checkClaims({ issuer }: JwtSettings, claims: UserClaims, clock: Clock): void {
  const now = clock.now() / 1000;
  if (claims.iss !== issuer.url) throw new TokenError("oidc: id token issued by a different provider");
  const audiences = typeof claims.aud === "string" ? [claims.aud] : Array.isArray(claims.aud) ? claims.aud : [];
  if (!issuer.audiences.some((audience) => audiences.includes(audience)))
    throw new TokenError("oidc: expected audience in the token does not match those of the configuration");
  if (typeof claims.exp !== "number") throw new TokenError("oidc: token has no expiry");
  if (claims.exp < now) throw new TokenError("oidc: token is expired");
  if (claims.nbf === undefined) return;
  if (typeof claims.nbf !== "number" || now + leewaySeconds < claims.nbf)
    throw new TokenError("oidc: current time before the nbf (not before) time of the token");
}
