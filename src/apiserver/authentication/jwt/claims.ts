// From what a token says to whom it names. Follows k8s.io/apiserver/plugin/pkg/authenticator/token/oidc upstream, whose words people search for.
import { own } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import { TokenError } from "#serving/authentication.ts";
import type { User } from "#wire/api-request.ts";
import type { ClaimMapping, JwtSettings, MappedUser } from "./settings.ts";

export type UserClaims = Readonly<Record<string, unknown>>;

const credentialId = "authentication.kubernetes.io/credential-id";

/** Throws TokenError for a token that the settings refuse. */
export function userOfClaims(settings: JwtSettings, claims: UserClaims): User {
  refuseDistributed(settings, claims);
  const username = usernameOf(settings.username, claims);
  const groups = settings.groups ? groupsOf(settings.groups, claims) : [];
  for (const { refusalOf } of settings.claimRules) {
    const why = evaluated("claim validation", () => refusalOf(claims));
    if (why !== undefined) throw new TokenError(why);
  }
  const uid = settings.uid ? textOf(settings.uid, claims, "uid") : "";
  const extra = extraOf(settings, claims);
  const mapped: MappedUser = { username, uid, groups, extra };
  for (const { text, message, evaluate } of settings.userRules) {
    if (evaluated("user validation", () => evaluate(mapped)) === true) continue;
    throw new TokenError(`oidc: error evaluating user info validation rule: ${failed(text, message)}`);
  }
  return {
    name: username,
    ...(uid && { uid }),
    groups,
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

export const failed = (text: string, message: string): string =>
  `validation expression '${text}' failed${message && `: ${message}`}`;

/** An expression that cannot be evaluated refuses: nobody is let in by a mistake. */
function evaluated<T>(what: string, evaluate: () => T): T {
  try {
    return evaluate();
  } catch (error) {
    throw new TokenError(`oidc: error evaluating ${what} expression: ${explain(error)}`);
  }
}

/** Groups that would have to be fetched from elsewhere. */
function refuseDistributed({ groups }: JwtSettings, claims: UserClaims): void {
  if (groups?.type !== "claim" || own(claims, groups.claim) !== undefined) return;
  const names = own(claims, "_claim_names");
  if (typeof names === "object" && names !== null && Object.hasOwn(names, groups.claim))
    throw new TokenError(
      `oidc: could not expand distributed claims: the claim ${JSON.stringify(groups.claim)} is kept elsewhere, which is not supported`,
    );
}

function usernameOf(mapping: ClaimMapping, claims: UserClaims): string {
  if (mapping.type === "expression") {
    const name = textOf(mapping, claims, "username");
    if (name === "")
      throw new TokenError('oidc: error evaluating username claim expression: username is "", which is not allowed');
    return name;
  }
  const name = claimText(mapping.claim, claims, "username");
  if (mapping.claim === "email" && Object.hasOwn(claims, "email_verified")) {
    const isVerified = claims.email_verified;
    if (typeof isVerified !== "boolean") throw new TokenError("oidc: parse 'email_verified' claim: not a boolean");
    if (!isVerified) throw new TokenError("oidc: email not verified");
  }
  return `${mapping.prefix}${name}`;
}

function claimText(claim: string, claims: UserClaims, what: string): string {
  const value = own(claims, claim);
  if (value === undefined) throw new TokenError(`oidc: parse ${what} claims "${claim}": claim not present`);
  if (typeof value !== "string") throw new TokenError(`oidc: parse ${what} claims "${claim}": not a string`);
  return value;
}

/** A claim that is not there gives no text, and so does null of an expression. */
function textOf(mapping: ClaimMapping, claims: UserClaims, what: string): string {
  if (mapping.type === "claim") {
    if (what === "uid") return claimText(mapping.claim, claims, what);
    return Object.hasOwn(claims, mapping.claim) ? claimText(mapping.claim, claims, what) : "";
  }
  const value = evaluated(`${what} claim`, () => mapping.evaluate(claims));
  if (typeof value !== "string")
    throw new TokenError(`oidc: error evaluating ${what} claim expression: expected a string, got ${typeof value}`);
  return value;
}

function groupsOf(mapping: ClaimMapping, claims: UserClaims): readonly string[] {
  if (mapping.type === "expression")
    return listOf(
      evaluated("groups claim", () => mapping.evaluate(claims)),
      "oidc: error evaluating groups claim expression",
    );
  const value = own(claims, mapping.claim);
  if (value === undefined) return [];
  const groups = listOf(value, `oidc: parse groups claim "${mapping.claim}"`);
  return groups.map((group) => `${mapping.prefix}${group}`);
}

/** A string, or several. */
function listOf(value: unknown, what: string): readonly string[] {
  if (value === null || value === undefined) return [];
  if (typeof value === "string") return value === "" ? [] : [value];
  if (!Array.isArray(value) || !value.every((one): one is string => typeof one === "string"))
    throw new TokenError(`${what}: expected a string or a list of strings`);
  return value.filter((one) => one !== "");
}

function extraOf({ extra }: JwtSettings, claims: UserClaims): Readonly<Record<string, readonly string[]>> {
  const found: [string, readonly string[]][] = [];
  for (const { key, evaluate } of extra) {
    const values = listOf(
      evaluated("extra claim", () => evaluate(claims)),
      "oidc: error evaluating extra claim expression",
    );
    if (values.length > 0) found.push([key, values]);
  }
  if (typeof claims.jti === "string" && claims.jti !== "") found.push([credentialId, [`JTI=${claims.jti}`]]);
  return Object.fromEntries(found);
}
