import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type CronTimes, parseSchedule } from "#api/batch/v1/schedule.ts";
import { nextTime } from "./next-time.ts";
import { formatIn, type TimeZone, utc, zoneOf } from "./zone.ts";

/** Looks at every minute in turn, as a person with a wall clock and a calendar would. */
function byMinute(times: CronTimes, after: number, zone: TimeZone, limit: number): number | undefined {
  for (let at = (Math.floor(after / 60_000) + 1) * 60_000; at <= limit; at += 60_000) {
    const wall = new Date(at + zone.offsetMs(at));
    const day = times.days.has(wall.getUTCDate());
    const weekday = times.weekdays.has(wall.getUTCDay());
    const fits =
      times.minutes.has(wall.getUTCMinutes()) &&
      times.hours.has(wall.getUTCHours()) &&
      times.months.has(wall.getUTCMonth() + 1) &&
      (times.anyDay || times.anyWeekday ? day && weekday : day || weekday);
    if (fits) return at;
  }
  return undefined;
}

/** The walk asks for the same minutes again and again. */
function remembering({ offsetMs }: TimeZone): TimeZone {
  const known = new Map<number, number>();
  return {
    offsetMs(at) {
      const offset = known.get(at) ?? offsetMs(at);
      known.set(at, offset);
      return offset;
    },
  };
}

const field = (least: number, most: number) => {
  const number = fc.integer({ min: least, max: most });
  const range = fc.tuple(number, number).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const step = fc.integer({ min: 1, max: most });
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant("*") },
    { weight: 2, arbitrary: number.map(String) },
    fc.tuple(fc.oneof(fc.constant("*"), range), step).map(([base, by]) => `${base}/${by}`),
    fc.array(fc.oneof(number.map(String), range), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(",")),
  );
};
const specs = fc
  .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6))
  .map((fields) => fields.join(" "));

/** Moments near which clocks were set, of zones that do it in their own ways. */
const changes: readonly (readonly [string, string])[] = [
  ["America/New_York", "2026-03-08T07:00:00Z"],
  ["America/New_York", "2026-11-01T06:00:00Z"],
  ["Europe/Oslo", "2026-03-29T01:00:00Z"],
  ["Europe/Oslo", "2026-10-25T01:00:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"], // half an hour
  ["Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
  ["America/Sao_Paulo", "2018-11-04T03:00:00Z"], // at midnight
  ["America/Sao_Paulo", "2018-02-18T02:00:00Z"],
  ["Asia/Beirut", "2026-03-28T22:00:00Z"], // at midnight, east
  ["Pacific/Apia", "2011-12-30T10:00:00Z"], // a whole day
  ["Asia/Kolkata", "2026-01-01T00:00:00Z"],
  ["UTC", "2028-02-28T12:00:00Z"],
];
const dayMs = 86_400_000;

test("the next time is what a look at every minute finds, also where clocks are set", () => {
  const zones = new Map(changes.map(([name]) => [name, remembering(zoneOf(name))]));
  fc.assert(
    fc.property(
      specs,
      fc.constantFrom(...changes),
      fc.integer({ min: -dayMs, max: dayMs }),
      (spec, [name, at], off) => {
        const times = parseSchedule(spec) as CronTimes;
        const zone = zones.get(name)!;
        const after = Date.parse(at) + off;
        const limit = Date.parse(at) + 2 * dayMs;
        const found = nextTime(times, after, zone);
        const wanted = byMinute(times, after, zone, limit);
        if (wanted === undefined) assert.ok(found === undefined || found > limit, `${spec} found too early`);
        else assert.equal(found, wanted, `${spec} in ${name} after ${new Date(after).toISOString()}`);
      },
    ),
    { numRuns: 1000 },
  );
});

test("times far away are found as fast", () => {
  const at = (text: string) => Date.parse(text);
  const table: readonly (readonly [string, string, string, string | undefined])[] = [
    ["0 0 29 2 *", "UTC", "2025-01-01T00:00:00Z", "2028-02-29T00:00:00Z"],
    ["0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", undefined],
    ["0 0 31 2 *", "Europe/Oslo", "2026-01-01T00:00:00Z", undefined],
    ["0 0 31 4,6 *", "UTC", "2026-01-01T00:00:00Z", undefined],
    ["0 12 25 12 *", "Europe/Oslo", "2026-12-25T11:00:00Z", "2027-12-25T11:00:00Z"],
    ["0 12 1 7 *", "America/New_York", "2026-07-02T00:00:00Z", "2027-07-01T16:00:00Z"],
  ];
  for (const [spec, zone, after, wanted] of table)
    assert.equal(nextTime(parseSchedule(spec), at(after), zoneOf(zone)), wanted && at(wanted), `${spec} ${after}`);
});

test("a minute that is left out does not come due, and one that comes twice comes due twice", () => {
  const times = (spec: string, zone: string, from: string, count: number) => {
    const [schedule, place] = [parseSchedule(spec), zoneOf(zone)];
    let at = Date.parse(from);
    return Array.from({ length: count }, () => {
      at = nextTime(schedule, at, place)!;
      return formatIn(place, at);
    });
  };
  assert.deepEqual(times("30 2 * * *", "America/New_York", "2026-03-07T00:00:00Z", 3), [
    "2026-03-07T02:30:00-05:00",
    "2026-03-09T02:30:00-04:00",
    "2026-03-10T02:30:00-04:00",
  ]);
  assert.deepEqual(times("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", 3), [
    "2026-11-01T01:30:00-04:00",
    "2026-11-01T01:30:00-05:00",
    "2026-11-02T01:30:00-05:00",
  ]);
  assert.deepEqual(times("0 */12 * * *", "Europe/London", "2026-10-24T22:00:00Z", 3), [
    "2026-10-25T00:00:00+01:00",
    "2026-10-25T12:00:00Z",
    "2026-10-26T00:00:00Z",
  ]);
});

test("an interval counts from whole seconds, whatever the clocks do", () => {
  const from = Date.parse("2026-03-29T00:59:30Z");
  assert.equal(nextTime(parseSchedule("@every 90s"), from + 750, utc), from + 90_000);
  assert.equal(nextTime(parseSchedule("@every 100ms"), from, zoneOf("Europe/Oslo")), from + 1000);
});
