import { DurationError, parseDuration } from "#base/duration.ts";
import { UsageError } from "#base/errors.ts";

/** Milliseconds of a flag such as `--timeout=2m`. Throws UsageError unless it is a time longer than none. */
export function durationFlag(name: string, text: string): number {
  const ms = delayFlag(name, text);
  if (ms === 0) throw notTime(name, text);
  return ms;
}

/** The same where none is a time, too. */
export function delayFlag(name: string, text: string): number {
  try {
    const ms = Number(parseDuration(text)) / 1e6;
    if (ms >= 0) return ms;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
  }
  throw notTime(name, text);
}

const notTime = (name: string, text: string): UsageError =>
  new UsageError(`--${name}: ${JSON.stringify(text)} is not a time such as 90s or 2m`);
