// Who asks: all that tells it, put together.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Metrics } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { type AnonymousService, type Authenticator, identifyBy, type TokenOwner } from "#serving/authentication.ts";
import { GuessLimiter } from "#serving/guess-limiter.ts";
import type { AuditAnnotations, User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import type { CacheOf } from "../watch-cache.ts";
import { bootstrapTokens } from "./bootstrap-tokens.ts";
import { type LegacyTokenOptions, legacyTokens } from "./legacy-tokens.ts";
import { type ServiceAccountTokenSettings, ServiceAccountTokens } from "./service-account-tokens.ts";
import { anyToken, type TokenAuthenticator } from "./token-authenticators.ts";

export interface IdentityOptions {
  /** Who knows clients by what they show besides tokens. */
  readonly authenticators: readonly Authenticator[];
  /** Who knows tokens, and is asked before the service accounts' own are looked at. */
  readonly tokens: readonly TokenAuthenticator[];
  /** Whether tokens by which nodes join are known. */
  readonly bootstrapTokens?: boolean;
  /** Who is asked last: those who have to ask others. */
  readonly remoteTokens?: readonly TokenAuthenticator[];
  /** Whether clients are served that show nothing, or at which paths; defaults to true. */
  readonly servesAnonymous?: AnonymousService;
  /** How tokens of service accounts are made and checked; without this there are none. */
  readonly serviceAccounts?: ServiceAccountTokenSettings;
  /** Told of each secret whose token was shown; nothing is noted by default. */
  readonly legacyTokenUsed?: LegacyTokenOptions["used"];
  /** Names of the server, for which a token must be good that is shown to it. */
  readonly audiences: readonly string[];
  readonly cacheOf: CacheOf;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
}

export interface Identity {
  readonly serviceAccounts: ServiceAccountTokens | undefined;
  /** Whose token it is, for those audiences; for the server itself if none are named. Throws TokenError. */
  authenticateToken(token: string, audiences?: readonly string[]): Promise<TokenOwner>;
  identify(request: HttpRequest, notes?: AuditAnnotations): Promise<User> | User;
}

export function identityBy(options: IdentityOptions): Identity {
  const { tokens, audiences: ownAudiences, clock, random, cacheOf } = options;
  const serviceAccounts =
    options.serviceAccounts &&
    new ServiceAccountTokens({ ...options.serviceAccounts, audiences: ownAudiences, clock, random, cacheOf });
  const tokenOwner = anyToken([
    ...tokens,
    ...(serviceAccounts
      ? [
          serviceAccounts.authenticate.bind(serviceAccounts),
          legacyTokens({ ...serviceAccounts.options, used: options.legacyTokenUsed }),
        ]
      : []),
    ...(options.bootstrapTokens ? [bootstrapTokens({ cacheOf, clock })] : []),
    ...(options.remoteTokens ?? []),
  ]);
  const authenticateToken = (token: string, audiences: readonly string[] = []) =>
    tokenOwner(token, audiences.length > 0 ? audiences : ownAudiences);
  const guesses = new GuessLimiter(options);
  return { serviceAccounts, authenticateToken, identify: identifyBy({ ...options, authenticateToken, guesses }) };
}
