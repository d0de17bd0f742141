// Cron schedules in the five-field form, with upstream's extensions: names, `@daily` and the like, `@every 5m`, `TZ=…`.
import { DurationError, parseDurationMs } from "#base/duration.ts";

/** The times a schedule names. A star in a day field matters: a day must fit both fields, or either if none has a star. */
export interface CronTimes {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  readonly anyDay: boolean;
  readonly anyWeekday: boolean;
  /** From a `TZ=` in front; undefined means the zone is given elsewhere. */
  readonly timeZone?: string;
}
export type Schedule = CronTimes | { readonly everyMs: number; readonly timeZone?: string };

interface Bounds {
  readonly least: number;
  readonly most: number;
  readonly names?: readonly string[];
}
const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const bounds: readonly Bounds[] = [
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  { least: 1, most: 12, names: months },
  { least: 0, most: 6, names: weekdays },
];

const descriptors: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
  }),
);

/** All minutes, hours, days, months and weekdays, each written out, take 400; what is much longer only repeats itself. */
const mostLength = 4096;

/** Reads a schedule; throws an Error that says what is wrong with it. */
export function parseSchedule(text: string): Schedule {
  if (text === "") throw new Error("empty spec string");
  if (text.length > mostLength) throw new Error(`may not be more than ${mostLength} bytes`);
  const zoned = /^(?:CRON_)?TZ=(\S*)(.*)$/s.exec(text);
  if (!zoned) return parseTimes(text);
  const [, timeZone = "", rest = ""] = zoned;
  // The words are those of a crash that upstream catches.
  if (!rest.startsWith(" ")) throw new Error("invalid schedule format: runtime error: slice bounds out of range [:-1]");
  if (!isTimeZone(timeZone)) throw new Error(`provided bad location ${timeZone}: unknown time zone ${timeZone}`);
  return { ...parseTimes(rest.trim()), timeZone };
}

/** Whether the machine knows a time zone of that name. Offsets such as `+01:00` are no names. */
export function isTimeZone(name: string): boolean {
  if (name === "" || /^[+-]?\d/.test(name)) return name === "";
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false; // the constructor's only way to say that it does not know the name
  }
}

function parseTimes(text: string): Schedule {
  if (text.startsWith("@every ")) return { everyMs: parseEvery(text.slice("@every ".length)) };
  if (text.startsWith("@") && !descriptors.has(text)) throw new Error(`unrecognized descriptor: ${text}`);
  const fields = (descriptors.get(text) ?? text).split(/\s+/).filter((field) => field !== "");
  if (fields.length !== 5) throw new Error(`expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`);
  const sets = fields.map((field, i) => parseField(field, bounds[i] as Bounds));
  const [minutes, hours, days, monthsSet, weekdaysSet] = sets as [Times, Times, Times, Times, Times];
  return {
    minutes: minutes.at,
    hours: hours.at,
    days: days.at,
    months: monthsSet.at,
    weekdays: weekdaysSet.at,
    anyDay: days.star,
    anyWeekday: weekdaysSet.star,
  };
}

interface Times {
  readonly at: ReadonlySet<number>;
  readonly star: boolean;
}

function parseField(field: string, bounds: Bounds): Times {
  const ranges = field
    .split(",")
    .filter((range) => range !== "")
    .map((range) => parseRange(range, bounds));
  return { at: new Set(ranges.flatMap(({ at }) => [...at])), star: ranges.some(({ star }) => star) };
}

/** `*`, `5`, `1-5`, each with an optional `/step`. A single number with a step runs to the end. */
function parseRange(text: string, { least, most, names }: Bounds): Times {
  const [range = "", stepText, ...slashes] = text.split("/");
  const [low = "", high, ...hyphens] = range.split("-");
  const star = low === "*" || low === "?";
  let start = least;
  let end = most;
  if (!star) {
    start = parseNumber(low, names, least);
    if (hyphens.length > 0) throw new Error(`too many hyphens: ${text}`);
    end = high === undefined ? start : parseNumber(high, names, least);
  }
  if (slashes.length > 0) throw new Error(`too many slashes: ${text}`);
  const step = stepText === undefined ? 1 : parseNumber(stepText);
  if (stepText !== undefined && high === undefined) end = most;
  if (start < least) throw new Error(`beginning of range (${start}) below minimum (${least}): ${text}`);
  if (end > most) throw new Error(`end of range (${end}) above maximum (${most}): ${text}`);
  if (start > end) throw new Error(`beginning of range (${start}) beyond end of range (${end}): ${text}`);
  if (step === 0) throw new Error(`step of range should be a positive number: ${text}`);
  const at = new Set<number>();
  for (let n = start; n <= end; n += step) at.add(n);
  return { at, star: star && step === 1 };
}

function parseNumber(text: string, names?: readonly string[], first = 0): number {
  const named = names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return named + first;
  if (!/^[+-]?\d+$/.test(text))
    throw new Error(`failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  const number = Number(text);
  if (number < 0) throw new Error(`negative number (${number}) not allowed: ${text}`);
  return number;
}

/** A Go duration such as `1h30m`, in whole seconds; the shortest is one. */
function parseEvery(text: string): number {
  try {
    return Math.max(1, Math.floor(parseDurationMs(text) / 1000)) * 1000;
  } catch (error) {
    if (error instanceof DurationError)
      throw new Error(`failed to parse duration @every ${text}: ${error.message}`, { cause: error });
    throw error;
  }
}
