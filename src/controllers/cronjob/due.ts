// Which start of a cron job is due, and when to look again.
// Upstream: pkg/controller/cronjob/utils.go.
import type { CronJob } from "#api/batch/v1/cron-job.ts";
import type { Schedule } from "#api/batch/v1/schedule.ts";
import { millisOf } from "#schema/time.ts";
import { nextTime } from "./next-time.ts";
import type { TimeZone } from "./zone.ts";

/** More than so many missed starts are worth a warning. */
const manyMissed = 100;
/** Wake-ups are this much late, so that a clock that is slightly behind does not wake too early. */
const slackMs = 100;

export interface Timetable {
  readonly schedule: Schedule;
  readonly zone: TimeZone;
}

/** A schedule that can be read but makes no sense: the 31st of February. */
export class NeverDue extends Error {
  override readonly name = "NeverDue";
}

interface MissedRuns {
  readonly earliest: number;
  /** The last time the job was due, if it was. */
  readonly last: number | undefined;
  readonly count: number;
}

/** The starts that were missed since the last one, estimated from the distance of the first two. Throws NeverDue. */
function missedStarts(
  { metadata, spec, status }: CronJob,
  table: Timetable,
  now: number,
  withDeadline: boolean,
): MissedRuns {
  const next = (after: number) => nextTime(table.schedule, after, table.zone);
  const since = millisOf(status.lastScheduleTime ?? metadata.creationTimestamp ?? "1970-01-01T00:00:00Z");
  const deadline = withDeadline ? spec.startingDeadlineSeconds : undefined;
  const earliest = deadline === undefined ? since : Math.max(since, now - deadline * 1000);
  const first = next(earliest);
  if (first !== undefined && now < first) return { earliest, last: undefined, count: 0 };
  const second = first === undefined ? undefined : next(first);
  if (first !== undefined && second !== undefined && now < second) return { earliest, last: first, count: 0 };
  const apart = Math.round(((second ?? 0) - (first ?? 0)) / 1000) * 1000;
  if (first === undefined || second === undefined || apart < 1000)
    throw new NeverDue("time difference between two schedules is less than 1 second");
  const count = Math.floor((now - first) / apart) + 1;
  return { earliest, last: lastWithin(table, first + (count - 2) * apart, now), count };
}

/** The last due time after `from` and up to `to`, by binary search. */
function lastWithin({ schedule, zone }: Timetable, from: number, to: number): number | undefined {
  if ("everyMs" in schedule) return from + Math.floor((to - from) / schedule.everyMs) * schedule.everyMs;
  const dueAfter = (at: number) => {
    const due = nextTime(schedule, at, zone);
    return due !== undefined && due <= to ? due : undefined;
  };
  let [low, high] = [from, to];
  while (high - low > 1000) {
    const middle = Math.floor((low + high) / 2);
    if (dueAfter(middle) === undefined) high = middle;
    else low = middle;
  }
  return dueAfter(low);
}

export interface Due {
  /** The time the job was to start at. */
  readonly at: number;
  readonly tooManyMissed: boolean;
}

/** The missed start to make up for, if there is one and its deadline has not passed. Throws NeverDue. */
export function dueStart(cronJob: CronJob, table: Timetable, now: number): Due | undefined {
  const { last, count } = missedStarts(cronJob, table, now, true);
  return last === undefined || last > now ? undefined : { at: last, tooManyMissed: count > manyMissed };
}

/** In how many milliseconds the next start is due; undefined if never. */
export function nextStartMs(cronJob: CronJob, table: Timetable, now: number): number | undefined {
  const next = nextTime(table.schedule, lastStart(cronJob, table, now), table.zone);
  return next === undefined ? undefined : next + slackMs - now;
}

function lastStart(cronJob: CronJob, table: Timetable, now: number): number {
  try {
    const { earliest, last, count } = missedStarts(cronJob, table, now, false);
    return last ?? (count === 0 ? earliest : now);
  } catch (error) {
    if (error instanceof NeverDue) return now;
    throw error;
  }
}
