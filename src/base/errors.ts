// The three families of errors. Anything that is neither of the two below is a bug: logged with its stack, answered 500.

/** The person's mistake: printed as it is, without a stack; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** One reason why a request was refused, as in `Status.details.causes`. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** What an API error says to the client: the wire's `Status`, without its constant parts. */
export interface StatusError {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: StatusDetails;
  /** Where a list that cannot go on as it began can go on all the same: `metadata.continue`. */
  readonly continue?: string;
}

/** A refusal by the API: the only error that crosses the wire. Test for it by `reason`, never by text. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  readonly continue: string | undefined;

  constructor(status: StatusError, options?: ErrorOptions) {
    super(status.message, options);
    this.code = status.code;
    this.reason = status.reason;
    this.details = status.details;
    this.continue = status.continue;
  }
}

/** Whether the API refused for this reason, as in `Status.reason`. */
export const isReason = (error: unknown, reason: string): boolean =>
  error instanceof ApiError && error.reason === reason;
export const isNotFound = (error: unknown): boolean => isReason(error, "NotFound");
export const isConflict = (error: unknown): boolean => isReason(error, "Conflict");
export const isInvalid = (error: unknown): boolean => isReason(error, "Invalid");
/** The history that was asked for is forgotten: only a new list helps. */
export const isExpired = (error: unknown): boolean => error instanceof ApiError && error.code === 410;

/** The message of an error and of all its causes, for a person: `open store /x: permission denied`. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${explain(error.cause)}`;
}

/** Whether it is one of these that the system tells of: `ENOENT`, `EACCES`… */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && "code" in error && typeof error.code === "string" && codes.includes(error.code);
