// Who is asking. Authenticators are tried in order; the first that knows the client wins. A client that shows a token which nobody
// knows is refused, one that shows nothing is anonymous.
import { fromBase64Url } from "#base/base64.ts";
import type { AuditAnnotations, User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { unauthorized } from "#wire/status.ts";
import { isWebSocketRequest, offeredProtocols } from "#wire/streams/websocket.ts";
import type { GuessLimiter } from "./guess-limiter.ts";

/** The client shows a credential that is not good. It may still show a good one of another sort. */
export const refused = Symbol("refused");
type Identity = User | typeof refused | undefined;

/** Answers the user, `refused`, or undefined if this is not for it to say. */
export type Authenticator = (request: HttpRequest) => Promise<Identity> | Identity;

export interface TokenOwner {
  readonly user: User;
  /** For whom the token is good, of those that were asked for. */
  readonly audiences: readonly string[];
  /** What the audit log should tell of the token, by upstream's keys. */
  readonly notes?: Readonly<Record<string, string>>;
}

/** Why a token is not good. Shown to those who review tokens, not to the one who shows a bad one. */
export class TokenError extends Error {
  override readonly name = "TokenError";
}

export const authenticated = "system:authenticated";
export const unauthenticated = "system:unauthenticated";
export const anonymousUser: User = { name: "system:anonymous", groups: [unauthenticated] };

/** Whether strangers are served, or at which paths. */
export type AnonymousService = boolean | ((path: string) => boolean);

export interface IdentifyOptions {
  readonly authenticators: readonly Authenticator[];
  readonly authenticateToken: (token: string) => Promise<TokenOwner>;
  /** Whether those are served who show nothing, or at which paths; they are by default. */
  readonly servesAnonymous?: AnonymousService;
  readonly guesses: GuessLimiter;
}

export const identifyBy =
  (options: IdentifyOptions): ((request: HttpRequest, notes?: AuditAnnotations) => Promise<User> | User) =>
  (request, notes) => {
    const { authorization } = request.headers;
    if (authorization === undefined || !/^\s*basic /i.test(authorization)) return identify(request, notes, options);
    return options.guesses.check(request.remoteAddress, authorization, async () => identify(request, notes, options));
  };

function identify(
  request: HttpRequest,
  notes: AuditAnnotations | undefined,
  options: IdentifyOptions,
): Promise<User> | User {
  // Whoever shows a certificate is known at once, and shows it with every request.
  let isRefused = false;
  for (const [i, authenticate] of options.authenticators.entries()) {
    const user = authenticate(request);
    if (user instanceof Promise) return identifyLater(request, { user, next: i + 1, isRefused, notes }, options);
    if (user && user !== refused) return asAuthenticated(user);
    isRefused ||= user === refused;
  }
  return identifyByToken(request, { isRefused, notes }, options);
}

/** How far the authenticators have been asked. */
interface Asking {
  readonly user: Promise<Identity>;
  readonly next: number;
  readonly isRefused: boolean;
  readonly notes: AuditAnnotations | undefined;
}

async function identifyLater(request: HttpRequest, asking: Asking, options: IdentifyOptions): Promise<User> {
  let { isRefused } = asking;
  for (const authenticate of [() => asking.user, ...options.authenticators.slice(asking.next)]) {
    const user = await authenticate(request);
    if (user && user !== refused) return asAuthenticated(user);
    isRefused ||= user === refused;
  }
  return identifyByToken(request, { isRefused, notes: asking.notes }, options);
}

async function identifyByToken(
  request: HttpRequest,
  { isRefused, notes }: Pick<Asking, "isRefused" | "notes">,
  { authenticateToken, guesses, servesAnonymous = true }: IdentifyOptions,
): Promise<User> {
  const { authorization } = request.headers;
  const token = authorization ? bearerToken(authorization) : protocolToken(request);
  if (token === undefined) {
    const isServed = typeof servesAnonymous === "function" ? servesAnonymous(request.path) : servesAnonymous;
    if (authorization || isRefused || !isServed) throw unauthorized();
    return anonymousUser;
  }
  return guesses.check(request.remoteAddress, token, async () => {
    try {
      const owner = await authenticateToken(token);
      for (const [key, value] of Object.entries(owner.notes ?? {})) notes?.annotate(key, value);
      return owner.user;
    } catch (error) {
      if (error instanceof TokenError) throw unauthorized();
      throw error;
    }
  });
}

export const asAuthenticated = (user: User): User =>
  user.groups.includes(authenticated) || user.groups.includes(unauthenticated)
    ? user
    : { ...user, groups: [...user.groups, authenticated] };

export function bearerToken(authorization: string | undefined): string | undefined {
  const match = /^bearer +(\S+)$/i.exec(authorization?.trim() ?? "");
  return match?.[1];
}

/** Pages cannot set headers of a WebSocket, so a token may come as one of the protocols they ask for. */
export const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

/** Only of a WebSocket, and only beside a protocol that can be chosen: a page that asks for no other gets no connection. */
function protocolToken(request: HttpRequest): string | undefined {
  if (!isWebSocketRequest(request)) return undefined;
  const protocols = offeredProtocols(request.headers);
  const shown = protocols.filter((one) => one.startsWith(tokenProtocol));
  const [encoded] = shown;
  if (encoded === undefined) return undefined;
  if (shown.length > 1 || protocols.length === 1) throw unauthorized();
  return decodeToken(encoded.slice(tokenProtocol.length));
}

function decodeToken(encoded: string): string | undefined {
  const token = fromBase64Url(encoded);
  if (!token) throw unauthorized();
  return new TextDecoder().decode(token) || undefined;
}

/** The protocols that are really asked for. */
export const withoutToken = (protocols: string): string =>
  protocols
    .split(",")
    .map((one) => one.trim())
    .filter((one) => !one.startsWith(tokenProtocol))
    .join(", ");
