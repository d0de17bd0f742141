// What a cluster refuses a machine that joins, in words for whoever sits there.
import { systemClock as clock } from "#base/clock.ts";
import { explain, isReason } from "#base/errors.ts";
import { retry } from "#base/retry.ts";
import { CertificateRefusal } from "../node/request-certificate.ts";

/** Where somebody at the same address guesses tokens, ours waits for its turn; once it was taken it is always looked at. */
export function whenTokenIsTaken<T>(
  ask: () => Promise<T>,
  progress: (text: string) => void,
  signal: AbortSignal,
): Promise<T> {
  const when = (error: unknown): boolean => {
    const isBusy = isReason(error, "TooManyRequests");
    if (isBusy) progress(`waiting: ${explain(error)}`);
    return isBusy;
  };
  return retry(ask, { firstMs: 300, maxMs: 1_000, clock, when }, signal);
}

/** The same error in such words, if it is one of these. */
export function plainRefusal(error: unknown, at: string): unknown {
  if (isReason(error, "Unauthorized"))
    return new Error(
      `${at} does not take the token: it has expired or was deleted; "knarr token create --print-join-command" makes another`,
      { cause: error },
    );
  if (isReason(error, "Forbidden"))
    return new Error(`${at} does not let this token join machines: ${explain(error)}`, { cause: error });
  if (error instanceof CertificateRefusal)
    return new Error(`${at} gives this machine no certificate: ${error.message}`, { cause: error });
  return error;
}
