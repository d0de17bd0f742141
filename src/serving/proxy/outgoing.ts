// Requests to other servers: how they look, where they go, and what it is when nobody answers.
import { ApiError } from "#base/errors.ts";

/** A request on its way to another server. */
export interface OutgoingRequest {
  readonly method: string;
  /** Path and query, escaped. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Further headers, which may come several times. */
  readonly repeated?: Readonly<Record<string, string | readonly string[]>>;
  readonly content?: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** A server whose certificate says nothing we could check, as those of pods. */
export interface Origin {
  readonly scheme: "http" | "https";
  readonly host: string;
  /** Defaults to the scheme's own. */
  readonly port?: number;
  readonly dialAddress?: string;
}

/** Nobody answered. The message says why, as in `dial tcp 10.0.0.7:10250: connect: connection refused`. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  /** The connection had been used before and broke before anything was answered: the other end may have closed it while it was idle. */
  readonly wasIdle: boolean;

  constructor(message: string, { wasIdle = false, ...options }: ErrorOptions & { readonly wasIdle?: boolean } = {}) {
    super(message, options);
    this.wasIdle = wasIdle;
  }
}

/** Names a failure to reach something in upstream's words; other errors are passed on. */
export function unreachable(error: unknown, code: 500 | 503, what: string): unknown {
  if (!(error instanceof Unreachable)) return error;
  const reason = code === 503 ? "ServiceUnavailable" : "";
  return new ApiError({ code, reason, message: `${what}: ${error.message}` }, { cause: error });
}
