// Moments in time, to the nanosecond, between the years 1 and 9999.
import { type Duration, toDuration } from "./duration.ts";
import { fail } from "./failure.ts";

const leastSeconds = -62135596800;
const mostSeconds = 253402300799;

export class Timestamp {
  readonly kind = "timestamp";
  /** Since 1970. */
  readonly seconds: number;
  readonly nanoseconds: number;

  constructor(seconds: number, nanoseconds: number) {
    this.seconds = seconds;
    this.nanoseconds = nanoseconds;
  }
}

/** Fails if the moment is outside of what a timestamp can be. */
export function toTimestamp(seconds: number, nanoseconds: number): Timestamp {
  if (!(seconds >= leastSeconds && seconds <= mostSeconds)) fail("timestamp overflow");
  return new Timestamp(seconds, nanoseconds);
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Reads RFC 3339 as Go does; undefined if it is none. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = rfc3339.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number);
  if (year === undefined || month === undefined || day === undefined) return undefined;
  if (hour === undefined || minute === undefined || second === undefined) return undefined;
  const [sign, hours, minutes] = [match[8], Number(match[9] ?? 0), Number(match[10] ?? 0)];
  if (hour > 23 || minute > 59 || second > 59 || hours > 23 || minutes > 59) return undefined;
  const days = daysSinceEpoch(year, month, day);
  if (days === undefined) return undefined;
  const offset = (hours * 60 + minutes) * 60 * (sign === "-" ? -1 : 1);
  const seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset;
  if (seconds < leastSeconds || seconds > mostSeconds) return undefined;
  return new Timestamp(seconds, Number((match[7] ?? "").slice(0, 9).padEnd(9, "0")));
}

/** The midnight that begins a day such as "2024-02-29", undefined if there is no such day. */
export function parseDate(text: string): Timestamp | undefined {
  return parseTimestamp(`${text}T00:00:00Z`);
}

function daysSinceEpoch(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day || month > 12) return undefined;
  return Math.floor(date.getTime() / 86_400_000);
}

export function formatTimestamp(timestamp: Timestamp): string {
  const date = new Date(timestamp.seconds * 1000);
  const year = String(date.getUTCFullYear()).padStart(4, "0");
  const rest = date.toISOString().replace(/^[+-]?\d+(-\d\d-\d\dT\d\d:\d\d:\d\d)\..*$/, "$1");
  const fraction = String(timestamp.nanoseconds).padStart(9, "0").replace(/0+$/, "");
  return `${year}${rest}${fraction ? `.${fraction}` : ""}Z`;
}

function inNanoseconds(timestamp: Timestamp): bigint {
  return BigInt(timestamp.seconds) * 1_000_000_000n + BigInt(timestamp.nanoseconds);
}

export function addDuration(timestamp: Timestamp, duration: Duration, sign: 1n | -1n): Timestamp {
  const total = inNanoseconds(timestamp) + sign * duration.nanoseconds;
  const nanoseconds = ((total % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  return toTimestamp(Number((total - nanoseconds) / 1_000_000_000n), Number(nanoseconds));
}

export function timeBetween(later: Timestamp, earlier: Timestamp): Duration {
  return toDuration(inNanoseconds(later) - inNanoseconds(earlier));
}
