// Tokens of service accounts: signed statements of who holds them, for whom they are good and until when, and to which object their
// life is bound. They are not stored; each use looks whether the account and that object still are what they were.
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import type { Clock } from "#base/clock.ts";
import type { Random } from "#base/random.ts";
import { decodeUtf8, parseJson } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { TokenError, type TokenOwner } from "#serving/authentication.ts";
import type { User } from "#wire/api-request.ts";
import { keyPrefix } from "../store-follower.ts";
import type { CacheOf } from "../watch-cache.ts";

/** Keys that sign tokens and tell whether they did. */
export interface TokenKeys {
  sign(claims: object): Promise<string>;
  /** Who a token says it is from, before anything of it is believed: others' tokens need no check of their signature here. */
  claimedIssuer(token: string): string | undefined;
  /** What a token says if one of the keys signed it. Throws TokenError if none did. */
  verify(token: string): Promise<Uint8Array>;
  /** The public keys, for others to check tokens with. */
  readonly keySet: { readonly keys: readonly { readonly alg?: string }[] };
  /** How long others may keep them; an hour by default. */
  readonly keySetSeconds?: number;
  /** The longest life of a token that they sign; any by default. */
  readonly maxSeconds?: number;
}

export interface ServiceAccountTokenSettings {
  readonly keys: TokenKeys;
  /** Who issues tokens: the first signs, all are believed. */
  readonly issuers: readonly string[];
  /** Where others find the keys; defaults to on this server. */
  readonly keySetUrl?: string | undefined;
  /** Longest life a token is given; as long as asked for if undefined. */
  readonly maxExpirationSeconds?: number | undefined;
  /** Whether tokens in pods that are told to live an hour live a year, since old clients do not read them again. */
  readonly extendExpiration: boolean;
}

export interface ServiceAccountTokenOptions extends ServiceAccountTokenSettings {
  /** Names of the server itself, for which tokens are good unless they say otherwise. */
  readonly audiences: readonly string[];
  readonly cacheOf: CacheOf;
  readonly clock: Clock;
  readonly random: Random;
}

interface ObjectClaim {
  readonly name: string;
  readonly uid?: string;
}

interface Claims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  readonly jti: string;
  readonly "kubernetes.io": {
    readonly namespace: string;
    readonly serviceaccount: ObjectClaim;
    readonly pod?: ObjectClaim;
    readonly secret?: ObjectClaim;
    readonly node?: ObjectClaim;
    readonly warnafter?: number;
  };
}

/** What a token is bound to. A pod's node is only mentioned. */
export type Bound = Readonly<Partial<Record<"pod" | "secret" | "node", ApiObject>>>;

const staleToken = "authentication.k8s.io/stale-token";
/** Clocks may differ by this much. */
const leewaySeconds = 60;
/** So many verified tokens are remembered: checking a signature costs more than all else about a request. */
const rememberedTokens = 2048;

export class ServiceAccountTokens {
  readonly options: ServiceAccountTokenOptions;
  readonly #verified = new Map<string, Claims>();

  constructor(options: ServiceAccountTokenOptions) {
    this.options = options;
  }

  async issue(
    account: ApiObject,
    bound: Bound,
    {
      audiences,
      seconds,
      warnAfterSeconds,
    }: { audiences: readonly string[]; seconds: number; warnAfterSeconds?: number },
  ): Promise<string> {
    const { keys, issuers, clock, random } = this.options;
    const now = Math.floor(clock.now() / 1000);
    const { namespace = "", name = "" } = account.metadata;
    const claim = (object: ApiObject | undefined): ObjectClaim | undefined =>
      object && { name: object.metadata.name ?? "", ...(object.metadata.uid && { uid: object.metadata.uid }) };
    const [pod, secret, node] = [claim(bound.pod), claim(bound.secret), claim(bound.node)];
    return keys.sign({
      aud: audiences,
      exp: now + seconds,
      iat: now,
      iss: issuers[0],
      jti: random.uuid(),
      "kubernetes.io": {
        namespace,
        ...(node && { node }),
        ...(pod && { pod }),
        ...(secret && { secret }),
        serviceaccount: claim(account),
        ...(warnAfterSeconds !== undefined && { warnafter: now + warnAfterSeconds }),
      },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${name}`,
    });
  }

  /** Throws TokenError, with upstream's words, if it is a token of ours and not good. */
  async authenticate(token: string, asked: readonly string[]): Promise<TokenOwner | undefined> {
    const claims = await this.#claimsOf(token);
    if (!claims) return undefined;
    const tokenAudiences = claims.aud.length > 0 ? claims.aud : this.options.audiences;
    const audiences = tokenAudiences.filter((audience) => asked.includes(audience));
    if (audiences.length === 0)
      throw new TokenError(
        `token audiences ${quoted(tokenAudiences)} is invalid for the target audiences ${quoted(asked)}`,
      );
    this.#refuseByTime(claims);
    this.#refuseRevoked(claims);
    const stale = this.#staleness(claims);
    return { user: userOf(claims), audiences, ...(stale !== undefined && { notes: { [staleToken]: stale } }) };
  }

  async #claimsOf(token: string): Promise<Claims | undefined> {
    const known = this.#verified.get(token);
    if (known) return known;
    const { keys, issuers } = this.options;
    if (!issuers.includes(keys.claimedIssuer(token) ?? "")) return undefined;
    const claims = claimsIn(await keys.verify(token));
    if (this.#verified.size >= rememberedTokens)
      for (const [oldest] of this.#verified) {
        this.#verified.delete(oldest);
        break;
      }
    this.#verified.set(token, claims);
    return claims;
  }

  /** Says that a client goes on with a token that it should have read again, which works only because old clients do not. */
  #staleness({ sub, "kubernetes.io": { warnafter } }: Claims): string | undefined {
    const seconds = Math.floor(this.options.clock.now() / 1000) - (warnafter || Number.POSITIVE_INFINITY);
    return seconds > 0 ? `subject: ${sub}, seconds after warning threshold: ${seconds}` : undefined;
  }

  #refuseByTime({ exp, nbf, iat }: Claims): void {
    const now = this.options.clock.now() / 1000;
    if (now + leewaySeconds < nbf) throw new TokenError("service account token is not valid yet");
    if (now - leewaySeconds > exp) throw new TokenError("service account token has expired");
    if (now + leewaySeconds < iat) throw new TokenError("service account token is issued in the future");
  }

  #refuseRevoked({ "kubernetes.io": { namespace, serviceaccount, secret, pod, node } }: Claims): void {
    const account = this.#find(ServiceAccount, namespace, serviceaccount.name);
    if (!account) throw new TokenError(`serviceaccounts ${JSON.stringify(serviceaccount.name)} not found`);
    if (account.metadata.uid !== serviceaccount.uid)
      throw new TokenError(
        `service account UID (${account.metadata.uid}) does not match claim (${serviceaccount.uid})`,
      );
    if (this.#isLongDeleted(account))
      throw new TokenError(`service account ${namespace}/${serviceaccount.name} has been deleted`);
    if (secret) this.#refuseUnbound(Secret, namespace, secret);
    if (pod) this.#refuseUnbound(Pod, namespace, pod);
    if (node && !pod) this.#refuseUnbound(Node, undefined, node);
  }

  #refuseUnbound(kind: AnyKind, namespace: string | undefined, { name, uid }: ObjectClaim): void {
    const object = this.#find(kind, namespace, name);
    if (!object || this.#isLongDeleted(object)) throw new TokenError("service account token has been invalidated");
    const what = kind.kind.toLowerCase();
    if (object.metadata.uid !== uid)
      throw new TokenError(
        `${what} UID (${object.metadata.uid}) does not match service account ${what} ref claim (${uid ?? ""})`,
      );
  }

  #find(kind: AnyKind, namespace: string | undefined, name: string): ApiObject | undefined {
    const key = keyPrefix(kind) + (namespace === undefined ? name : `${namespace}/${name}`);
    return this.options.cacheOf(kind).get(key)?.object;
  }

  #isLongDeleted({ metadata: { deletionTimestamp } }: ApiObject): boolean {
    return (
      deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < this.options.clock.now() - leewaySeconds * 1000
    );
  }
}

const quoted = (texts: readonly string[]): string => `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;

/** We signed it, so it has the form that we gave it; a key that also signs other things may say what it likes. */
function claimsIn(payload: Uint8Array): Claims {
  const value = parseJson(decodeUtf8(payload)).value as Partial<Claims>;
  const own = value["kubernetes.io"];
  const audiences = typeof value.aud === "string" ? [value.aud] : (value.aud ?? []);
  const isComplete =
    [value.exp, value.nbf ?? 0, value.iat ?? 0].every((one) => typeof one === "number") &&
    Array.isArray(audiences) &&
    typeof own?.namespace === "string" &&
    typeof own.serviceaccount?.name === "string";
  if (!isComplete)
    throw new TokenError("service account token claims could not be validated due to unexpected validation error");
  return { ...(value as Claims), aud: audiences, nbf: value.nbf ?? 0, iat: value.iat ?? 0 };
}

export const serviceAccountUser = (namespace: string, name: string, uid: string | undefined): User => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  ...(uid && { uid }),
  groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
});

function userOf({ jti, "kubernetes.io": { namespace, serviceaccount, pod, node } }: Claims): User {
  const extra = {
    ...(pod && { "pod-name": pod.name, "pod-uid": pod.uid }),
    ...(node && { "node-name": node.name, "node-uid": node.uid }),
    ...(jti && { "credential-id": `JTI=${jti}` }),
  };
  return {
    ...serviceAccountUser(namespace, serviceaccount.name, serviceaccount.uid),
    extra: Object.fromEntries(
      Object.entries(extra).flatMap(([key, value]) =>
        value ? [[`authentication.kubernetes.io/${key}`, [value]]] : [],
      ),
    ),
  };
}
