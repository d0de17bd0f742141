// Lengths of time in nanoseconds, as Go's time.Duration has and writes them.
import { fail } from "./failure.ts";

const least = -(1n << 63n);
const most = (1n << 63n) - 1n;

export class Duration {
  readonly kind = "duration";
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** Fails if it does not fit into 64 bits. */
export function toDuration(nanoseconds: bigint): Duration {
  if (nanoseconds < least || nanoseconds > most) fail("integer overflow");
  return new Duration(nanoseconds);
}

const units: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["μs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

const whole = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g;

/** Reads "1h30m" as Go does; undefined if it is no duration. */
export function parseDuration(text: string): Duration | undefined {
  if (/^[+-]?0$/.test(text)) return new Duration(0n);
  const match = whole.exec(text);
  if (!match) return undefined;
  let total = 0n;
  for (const [, digits, fraction = "", unit = ""] of (match[2] ?? "").matchAll(part)) {
    const scale = units.get(unit) ?? 0n;
    total += BigInt(digits || "0") * scale;
    // More than 18 digits after the point cannot matter.
    const shown = fraction.slice(0, 18);
    if (shown) total += (BigInt(shown) * scale) / 10n ** BigInt(shown.length);
  }
  if (match[1] === "-") total = -total;
  return total < least || total > most ? undefined : new Duration(total);
}

/** As conversion to a string writes it: seconds, with as many digits as it takes. */
export function formatSeconds(duration: Duration): string {
  const negative = duration.nanoseconds < 0n;
  const absolute = negative ? -duration.nanoseconds : duration.nanoseconds;
  const fraction = (absolute % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "");
  return `${negative ? "-" : ""}${absolute / 1_000_000_000n}${fraction ? `.${fraction}` : ""}s`;
}
