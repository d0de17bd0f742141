// Parts of timestamps and durations. Follows cel-go's common/stdlib/standard.go and types/timestamp.go.
import { type FunctionDeclaration, fn, type Library, member } from "../declarations.ts";
import { durationType, intType, stringType, timestampType } from "../types.ts";
import type { Duration } from "../values/duration.ts";
import { fail } from "../values/failure.ts";
import { toInt } from "../values/int.ts";
import type { Timestamp } from "../values/timestamp.ts";

/** The clock of a zone at a moment, as a date whose UTC parts are those of the zone. */
function localTime(timestamp: Timestamp, zone: string): Date {
  return new Date((timestamp.seconds + zoneOffset(timestamp, zone)) * 1000);
}

const fixedOffset = /^([+-]?)(\d\d):(\d\d)$/;

/** Seconds by which the zone is ahead of UTC. */
function zoneOffset(timestamp: Timestamp, zone: string): number {
  if (zone === "" || zone === "UTC") return 0;
  const fixed = fixedOffset.exec(zone);
  if (fixed) {
    const [, sign, hours, minutes] = fixed;
    return (Number(hours) * 60 + Number(minutes)) * 60 * (sign === "-" ? -1 : 1);
  }
  const parts = new Map(
    zoneClock(zone)
      .formatToParts(timestamp.seconds * 1000)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
  const local = new Date(0);
  local.setUTCFullYear(part("year"), part("month") - 1, part("day"));
  local.setUTCHours(part("hour") % 24, part("minute"), part("second"));
  return Math.round(local.getTime() / 1000) - timestamp.seconds;
}

/** There are a few hundred zones, and making one of these takes long. */
const clocks = new Map<string, Intl.DateTimeFormat>();

function zoneClock(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone);
  if (known) return known;
  try {
    const numeric = "numeric";
    const clock = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
    });
    clocks.set(zone, clock);
    return clock;
  } catch {
    // Intl refuses names that are no zones, and says nothing that Go would.
    return fail(`unknown time zone ${zone}`);
  }
}

function dayOfYear(date: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - start.getTime()) / 86_400_000);
}

const parts: readonly [name: string, id: string, (date: Date, timestamp: Timestamp) => number][] = [
  ["getFullYear", "year", (date) => date.getUTCFullYear()],
  ["getMonth", "month", (date) => date.getUTCMonth()],
  ["getDayOfYear", "day_of_year", dayOfYear],
  ["getDayOfMonth", "day_of_month", (date) => date.getUTCDate() - 1],
  ["getDate", "day_of_month_1_based", (date) => date.getUTCDate()],
  ["getDayOfWeek", "day_of_week", (date) => date.getUTCDay()],
  ["getHours", "hours", (date) => date.getUTCHours()],
  ["getMinutes", "minutes", (date) => date.getUTCMinutes()],
  ["getSeconds", "seconds", (date) => date.getUTCSeconds()],
  ["getMilliseconds", "milliseconds", (_, timestamp) => Math.floor(timestamp.nanoseconds / 1_000_000)],
];

/** What a duration is in a unit, cut off; of milliseconds upstream gives only those beyond the last full second. */
const durationUnits: ReadonlyMap<string, (nanoseconds: bigint) => bigint> = new Map([
  ["getHours", (nanoseconds: bigint) => nanoseconds / 3_600_000_000_000n],
  ["getMinutes", (nanoseconds: bigint) => nanoseconds / 60_000_000_000n],
  ["getSeconds", (nanoseconds: bigint) => nanoseconds / 1_000_000_000n],
  ["getMilliseconds", (nanoseconds: bigint) => nanoseconds / 1_000_000n],
]);

const accessors: readonly FunctionDeclaration[] = parts.map(([name, id, read]) => {
  const overloads = [
    member(`timestamp_to_${id}`, [timestampType], intType, (timestamp: Timestamp) =>
      read(localTime(timestamp, ""), timestamp),
    ),
    member(`timestamp_to_${id}_with_tz`, [timestampType, stringType], intType, (timestamp: Timestamp, zone: string) =>
      read(localTime(timestamp, zone), timestamp),
    ),
  ];
  const unit = durationUnits.get(name);
  if (unit)
    overloads.push(
      member(
        `duration_to_${id}`,
        [durationType],
        intType,
        (duration: Duration) => toInt(unit(duration.nanoseconds)) ?? 0,
      ),
    );
  return fn(name, ...overloads);
});

export const time: Library = { functions: accessors };
