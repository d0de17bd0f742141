// Who asks a part that has no list of users, and may they? The API server is asked, and its answers are believed for a while.
import { TokenReview } from "#api/authentication/v1/token-review.ts";
import { SubjectAccessReview, type SubjectAccessReviewSpec } from "#api/authorization/v1/subject-access-review.ts";
import type { Clock } from "#base/clock.ts";
import { hex } from "#base/hex.ts";
import type { Log } from "#base/log.ts";
import { sha256 } from "#base/sha256.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Client } from "#client/client.ts";
import { TtlCache } from "#client/ttl-cache.ts";
import type { Draft } from "#schema/infer.ts";
import type { User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { type Authenticator, identifyBy, TokenError, type TokenOwner } from "./authentication.ts";
import { type AuthorizationVerdict, permit } from "./authorization.ts";
import { GuessLimiter } from "./guess-limiter.ts";

export interface DelegationOptions {
  /** May create TokenReviews and SubjectAccessReviews. */
  readonly client: Client;
  /** Asked before any token is reviewed. */
  readonly authenticators: readonly Authenticator[];
  readonly clock: Clock;
  readonly log: Log;
  /** How long an answer is believed; defaults to upstream's ten seconds. */
  readonly tokenMs?: number;
  readonly allowedMs?: number;
  readonly deniedMs?: number;
}

export interface Delegation {
  /** Strangers are anonymous. Throws ApiError 401 for credentials that are not good. */
  identify(request: HttpRequest): Promise<User> | User;
  authorize(user: User, access: Access): Promise<AuthorizationVerdict>;
}

export type Access = Pick<Draft<SubjectAccessReviewSpec>, "resourceAttributes" | "nonResourceAttributes">;

const usualMs = 10_000;
/** How long an answer may take. */
const patienceMs = 10_000;
/** How many answers are remembered, and how long what was asked may be: nobody may fill the memory with questions. */
const longestQuestion = 10_000;

export function delegation(options: DelegationOptions): Delegation {
  const { client, authenticators, clock, tokenMs = usualMs, allowedMs = usualMs, deniedMs = usualMs } = options;
  const timely = async <T>(ask: (bound: Client) => Promise<T>): Promise<T> => {
    const late = new AbortController();
    const tooLate = () => late.abort(new Error(`the API server does not answer within ${patienceMs} ms`));
    const cancel = clock.after(patienceMs, tooLate);
    const signal = AbortSignal.any([client.signal, late.signal]);
    try {
      return await unlessAborted(ask(client.bound({ signal })), signal);
    } finally {
      cancel();
    }
  };
  const owners = new TtlCache<TokenOwner | TokenError>(clock);
  const verdicts = new TtlCache<AuthorizationVerdict>(clock);
  const authenticateToken = async (token: string) => {
    // By its hash: who reads the memory of this process shall not find tokens in it.
    const owner = await owners.get(
      hex(sha256(token)),
      () => timely((bound) => reviewToken(bound, token)),
      () => tokenMs,
    );
    if (owner instanceof TokenError) throw owner;
    return owner;
  };
  return {
    identify: identifyBy({ authenticators, authenticateToken, guesses: new GuessLimiter(options) }),
    authorize(user, access) {
      const { name, groups, uid, extra } = user;
      const spec = {
        user: name,
        groups: [...groups],
        ...(uid !== undefined && { uid }),
        ...(extra && { extra }),
        ...access,
      };
      const key = JSON.stringify(spec);
      const ask = () => timely((bound) => reviewAccess(bound, spec));
      if (key.length > longestQuestion) return ask();
      return verdicts.get(key, ask, ({ decision }) => (decision === "allow" ? allowedMs : deniedMs));
    },
  };
}

/** Throws ApiError 401 or 403 unless whoever asks may do so. */
export type Guard = (request: HttpRequest) => Promise<void>;

/** Lets those in who may do what the method says at the path. */
export function pathGuard({ identify, authorize }: Delegation): Guard {
  return async (request) => {
    const [verb, path] = [request.method.toLowerCase(), request.path];
    const user = await identify(request);
    await permit(() => authorize(user, { nonResourceAttributes: { path, verb } }), { type: "path", user, verb, path });
  };
}

async function reviewToken(client: Client, token: string): Promise<TokenOwner | TokenError> {
  const { status } = await client.create(TokenReview, { spec: { token } });
  if (!status.authenticated) return new TokenError(status.error || "invalid bearer token");
  const { username = "", uid, groups = [], extra } = status.user;
  const user = { name: username, groups, ...(uid !== undefined && { uid }), ...(extra && { extra }) };
  return { user, audiences: status.audiences ?? [] };
}

async function reviewAccess(client: Client, spec: Draft<SubjectAccessReviewSpec>): Promise<AuthorizationVerdict> {
  const { status } = await client.create(SubjectAccessReview, { spec });
  return { decision: status.allowed ? "allow" : "none", ...(status.reason && { reason: status.reason }) };
}
