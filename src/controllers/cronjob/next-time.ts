// When a schedule comes due next.
//
// A schedule names minutes as clocks on walls show them. When clocks are set forward, minutes that are left out do not come
// due; when they are set back, those that come twice come due twice. Upstream's library does the same, but for a few corners
// where it loses its way: of a zone east of Greenwich it misses the day that has no midnight.
// Upstream: vendor/github.com/robfig/cron/v3/spec.go.
import type { CronTimes, Schedule } from "#api/batch/v1/schedule.ts";
import { type TimeZone, transition } from "./zone.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** What does not come due within five years never does. */
const mostYears = 5;

/** The first moment after `after` at which the schedule is due, in milliseconds since 1970; undefined if it never is. */
export function nextTime(schedule: Schedule, after: number, zone: TimeZone): number | undefined {
  if ("everyMs" in schedule) return Math.floor(after / 1000) * 1000 + schedule.everyMs;
  let from = (Math.floor(after / minuteMs) + 1) * minuteMs;
  const lastYear = yearOf(from + zone.offsetMs(from)) + mostYears;
  for (;;) {
    const offset = zone.offsetMs(from);
    const wall = nextWall(schedule, from + offset, lastYear);
    const soon = from + 2 * dayMs;
    const change = transition(zone, from, soon);
    if (wall !== undefined && wall - offset < (change ?? soon)) return wall - offset;
    if (change !== undefined) from = Math.ceil(change / minuteMs) * minuteMs;
    else if (wall === undefined) return undefined;
    // Nothing between can be due, whatever the offset is by then: no two differ by more than a day.
    else from = Math.max(soon, wall - offset - dayMs);
  }
}

/** The first time not before `from` that a wall clock which is never set would show, in milliseconds as if it were UTC. */
function nextWall(times: CronTimes, from: number, lastYear: number): number | undefined {
  const start = Math.floor(from / dayMs) * dayMs;
  for (let day = start; ; ) {
    const date = new Date(day);
    if (date.getUTCFullYear() > lastYear) return undefined;
    if (!times.months.has(date.getUTCMonth() + 1)) {
      day = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
      continue;
    }
    const minute = fitsDay(times, date) ? firstMinute(times, day === start ? (from - day) / minuteMs : 0) : undefined;
    if (minute !== undefined) return day + minute * minuteMs;
    day += dayMs;
  }
}

function fitsDay({ days, weekdays, anyDay, anyWeekday }: CronTimes, date: Date): boolean {
  const [day, weekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
  return anyDay || anyWeekday ? day && weekday : day || weekday;
}

/** The first minute of the day that is due, not before `least`. */
function firstMinute({ hours, minutes }: CronTimes, least: number): number | undefined {
  for (let hour = Math.floor(least / 60); hour < 24; hour++) {
    if (!hours.has(hour)) continue;
    for (let minute = Math.max(0, Math.ceil(least - hour * 60)); minute < 60; minute++)
      if (minutes.has(minute)) return hour * 60 + minute;
  }
  return undefined;
}

const yearOf = (ms: number): number => new Date(ms).getUTCFullYear();
