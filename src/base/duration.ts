// Spans of time: as Go writes them ("1h30m0s"), and as people read them ("90m").
import { quote } from "./quote.ts";

export class DurationError extends Error {
  override readonly name = "DurationError";
}

const units: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1000n],
  ["\u00b5s", 1000n],
  ["\u03bcs", 1000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);
const most = 2n ** 63n;
const mostFraction = (most - 1n) / 10n;

/** Nanoseconds of a text such as "1h30m" or "-1.5s". Throws DurationError with Go's words. */
export function parseDuration(text: string): bigint {
  const sign = /^[-+]/.test(text) ? 1 : 0;
  const negative = text[0] === "-";
  if (text.slice(sign) === "0") return 0n;
  const invalid = () => new DurationError(`time: invalid duration ${quote(text)}`);
  if (text.length === sign) throw invalid();

  let total = 0n;
  const part = /(\d*)(?:\.(\d*))?([^.\d]*)/y;
  for (part.lastIndex = sign; part.lastIndex < text.length; ) {
    const [, whole = "", fraction = "", unitName = ""] = part.exec(text) ?? [];
    if (whole === "" && fraction === "") throw invalid();
    if (whole.replace(/^0+/, "").length > 19 || BigInt(whole) > most) throw invalid();
    if (unitName === "") throw new DurationError(`time: missing unit in duration ${quote(text)}`);
    const unit = units.get(unitName);
    if (unit === undefined) throw new DurationError(`time: unknown unit ${quote(unitName)} in duration ${quote(text)}`);
    if (BigInt(whole) > most / unit) throw invalid();
    total += BigInt(whole) * unit + fractionOf(fraction, unit);
    if (total > most) throw invalid();
  }
  if (!negative && total === most) throw invalid();
  return negative ? -total : total;
}

/** In milliseconds, for timers. */
export const parseDurationMs = (text: string): number => Number(parseDuration(text)) / 1e6;

/** As Go prints a duration: "1h30m0s", "1.5s", "300ms". */
export function formatDuration(nanos: bigint): string {
  if (nanos < 0n) return `-${formatDuration(-nanos)}`;
  if (nanos === 0n) return "0s";
  if (nanos < 1000n) return `${nanos}ns`;
  if (nanos < 1_000_000n) return `${decimal(nanos, 3)}\u00b5s`;
  if (nanos < 1_000_000_000n) return `${decimal(nanos, 6)}ms`;
  const minutes = nanos / 60_000_000_000n;
  const seconds = `${decimal(nanos % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return seconds;
  return minutes < 60n ? `${minutes}m${seconds}` : `${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** Two or three significant figures, as in the AGE column. */
export function humanDuration(millis: number): string {
  const seconds = Math.trunc(millis / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return two(days, "d", hours % 24, "h");
  if (days < 2 * 365) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? two(years, "y", days % 365, "d") : `${years}y`;
}

/** One unit only, as events are dated. */
export function shortHumanDuration(millis: number): string {
  const seconds = Math.trunc(millis / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.trunc(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.trunc(seconds / 3600)}h`;
  const days = Math.trunc(seconds / 86_400);
  return days < 365 ? `${days}d` : `${Math.trunc(days / 365)}y`;
}

const two = (first: number, firstUnit: string, second: number, secondUnit: string): string =>
  second === 0 ? `${first}${firstUnit}` : `${first}${firstUnit}${second}${secondUnit}`;

/** Through floating point, as Go does it, so that the last nanosecond agrees. */
function fractionOf(digits: string, unit: bigint): bigint {
  let value = 0n;
  let scale = 1;
  for (const digit of digits) {
    if (value > mostFraction) break;
    value = value * 10n + BigInt(digit);
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(unit) / scale)));
}

function decimal(value: bigint, places: number): string {
  const unit = 10n ** BigInt(places);
  const fraction = String(value % unit)
    .padStart(places, "0")
    .replace(/0+$/, "");
  return fraction === "" ? `${value / unit}` : `${value / unit}.${fraction}`;
}
