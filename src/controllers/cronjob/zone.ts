// Time zones: how far the clocks on the walls of a place are ahead of UTC at a moment.

export interface TimeZone {
  /** What to add to a moment, in milliseconds since 1970, to get what the wall shows as if it were UTC. */
  offsetMs(at: number): number;
}

export const utc: TimeZone = { offsetMs: () => 0 };

/** The zone of that name. Throws RangeError if the machine does not know it. */
export function zoneOf(name: string): TimeZone {
  if (name === "" || name === "UTC") return utc;
  const format = new Intl.DateTimeFormat("en", {
    timeZone: name,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return {
    offsetMs(at) {
      const second = Math.floor(at / 1000) * 1000;
      const parts = new Map(format.formatToParts(second).map(({ type, value }) => [type, Number(value)]));
      const [year = 0, month = 1, day, hour, minute, seconds] = fields.map((field) => parts.get(field));
      return Date.UTC(year, month - 1, day, hour, minute, seconds) - second;
    },
  };
}
const fields = ["year", "month", "day", "hour", "minute", "second"] as const;

/** The first moment after `from`, up to `to`, at which the offset is no longer what it was; undefined if it is the same at both ends. */
export function transition({ offsetMs }: TimeZone, from: number, to: number): number | undefined {
  const offset = offsetMs(from);
  if (offsetMs(to) === offset) return undefined;
  let [same, other] = [from, to];
  while (other - same > 1000) {
    const middle = Math.floor((same + other) / 2000) * 1000;
    if (middle <= same) break;
    if (offsetMs(middle) === offset) same = middle;
    else other = middle;
  }
  return other;
}

/** The moment as the wall shows it, in RFC 3339: `2026-03-29T03:00:00+02:00`. */
export function formatIn({ offsetMs }: TimeZone, at: number): string {
  const offset = offsetMs(at);
  const wall = new Date(at + offset).toISOString().slice(0, 19);
  if (offset === 0) return `${wall}Z`;
  const minutes = Math.abs(offset) / 60_000;
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  return `${wall}${offset < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}
