// Moments of lines, which have nine decimals.
import { formatTime, type Instant, parseTime, TimeError } from "#schema/time.ts";

/** Nanoseconds since 1970. */
export function nanosOf(time: string): bigint {
  const { seconds, nanos } = parseTime(time);
  return BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
}

/** `2026-01-01T00:00:00.000000001Z`. */
export const formatNanoTime = ({ seconds, nanos }: Instant): string =>
  `${formatTime({ seconds, nanos: 0 }).slice(0, -1)}.${String(nanos).padStart(9, "0")}Z`;

/** The same moment in UTC with nine decimals; undefined for what is none. */
export function utcTime(time: string): string | undefined {
  try {
    const instant = parseTime(time);
    return time.endsWith("Z") && time.length === 30 ? time : formatNanoTime(instant);
  } catch (error) {
    if (error instanceof TimeError) return undefined;
    throw error;
  }
}
