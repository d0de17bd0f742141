// Moments as the API writes them: RFC 3339 in UTC, in whole seconds (Time) or with six decimals (MicroTime).
//
// What is accepted, and the words of refusal, are those of Go's time.Parse, which is looser than RFC 3339: a one-digit
// hour, a comma before the fraction, offsets of up to 24:60.
import { quote } from "#base/quote.ts";

/** A moment, in seconds since 1970 and nanoseconds of that second, as protobuf has it. */
export interface Instant {
  readonly seconds: number;
  readonly nanos: number;
}

export class TimeError extends Error {
  override readonly name = "TimeError";
}

/** Go's zero time, which means "not set": upstream writes it as null. */
export const zeroTime = "0001-01-01T00:00:00Z";
export const zeroMicroTime = "0001-01-01T00:00:00.000000Z";

/** Reads a Time; any fraction and any offset will do. Throws TimeError. */
export const parseTime = (text: string): Instant => parse(text, "2006-01-02T15:04:05Z07:00", false);

/** Reads a MicroTime, which must have exactly six decimals. Throws TimeError. */
export const parseMicroTime = (text: string): Instant => parse(text, "2006-01-02T15:04:05.000000Z07:00", true);

export const formatTime = ({ seconds }: Instant): string => `${dateTime(seconds)}Z`;
export const formatMicroTime = ({ seconds, nanos }: Instant): string =>
  `${dateTime(seconds)}.${pad(Math.floor(nanos / 1000), 6)}Z`;

/** The text as it is stored and shown. Throws TimeError. */
export const canonicalTime = (text: string): string => (isCanonical(text, 20) ? text : formatTime(parseTime(text)));
export const canonicalMicroTime = (text: string): string =>
  isCanonical(text, 27) ? text : formatMicroTime(parseMicroTime(text));

/** What a clock shows, in milliseconds since 1970, as a Time. */
export function timeOf(millis: number): string {
  const seconds = Math.floor(millis / 1000);
  if (seconds !== lastTime.seconds) Object.assign(lastTime, { seconds, text: formatTime({ seconds, nanos: 0 }) });
  return lastTime.text;
}
/** To write a moment takes 2 µs, and all that happens within a second has the same. */
const lastTime = { seconds: Number.NaN, text: "" };
export const microTimeOf = (millis: number): string => formatMicroTime(instantOf(millis));

/** A Time or MicroTime in milliseconds since 1970. Throws TimeError. */
export function millisOf(text: string): number {
  const { seconds, nanos } = parseTime(text);
  return seconds * 1000 + nanos / 1e6;
}

export function instantOf(millis: number): Instant {
  const seconds = Math.floor(millis / 1000);
  return { seconds, nanos: Math.round((millis - seconds * 1000) * 1e6) };
}

/** Decides for what the server has written itself, which is nearly all there is. */
function isCanonical(text: string, length: number): boolean {
  if (text.length !== length || text.charCodeAt(length - 1) !== 90) return false;
  for (let i = 0; i < length - 1; i++) {
    const [code, wanted] = [text.charCodeAt(i), shape.charCodeAt(i)];
    if (wanted === 48 ? code < 48 || code > 57 : code !== wanted) return false;
  }
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  return (
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    (day <= 28 || day <= daysIn(100 * twoDigits(text, 0) + twoDigits(text, 2), month)) &&
    twoDigits(text, 11) < 24 &&
    twoDigits(text, 14) < 60 &&
    twoDigits(text, 17) < 60
  );
}
const shape = "0000-00-00T00:00:00.000000";
const twoDigits = (text: string, at: number): number => 10 * text.charCodeAt(at) + text.charCodeAt(at + 1) - 528;

/** Reads element by element, because the refusal names the element of the layout and what stood in its place. */
class Reader {
  readonly #text: string;
  readonly #layout: string;
  #at = 0;

  constructor(text: string, layout: string) {
    this.#text = text;
    this.#layout = layout;
  }

  get rest(): string {
    return this.#text.slice(this.#at);
  }

  literal(char: string): void {
    if (this.#text[this.#at] !== char) throw this.misfit(char);
    this.#at++;
  }

  take(pattern: RegExp, element: string): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) throw this.misfit(element);
    this.#at = pattern.lastIndex;
    return found[0];
  }

  number(pattern: RegExp, element: string): number {
    return Number(this.take(pattern, element));
  }

  within(value: number, least: number, most: number, what: string): number {
    if (value < least || value > most) throw this.refusal(`: ${what} out of range`);
    return value;
  }

  misfit(element: string): TimeError {
    return this.refusal(` as ${quote(this.#layout)}: cannot parse ${quote(this.rest)} as ${quote(element)}`);
  }

  refusal(detail: string): TimeError {
    return new TimeError(`parsing time ${quote(this.#text)}${detail}`);
  }
}

function parse(text: string, layout: string, micro: boolean): Instant {
  const reader = new Reader(text, layout);
  const year = reader.number(/\d{4}/y, "2006");
  reader.literal("-");
  const month = reader.within(reader.number(/\d\d/y, "01"), 1, 12, "month");
  reader.literal("-");
  const day = reader.number(/\d\d/y, "02");
  reader.literal("T");
  const hour = reader.within(reader.number(/\d\d?/y, "15"), 0, 23, "hour");
  reader.literal(":");
  const minute = reader.within(reader.number(/\d\d/y, "04"), 0, 59, "minute");
  reader.literal(":");
  const second = reader.within(reader.number(/\d\d/y, "05"), 0, 59, "second");
  const fraction = micro ? reader.take(/[.,]\d{6}/y, ".000000") : reader.take(/(?:[.,]\d+)?/y, "");
  const offset = readOffset(reader);
  if (reader.rest !== "") throw reader.refusal(`: extra text: ${quote(reader.rest)}`);
  reader.within(day, 1, daysIn(year, month), "day");
  return {
    seconds: 86_400 * daysSince1970(year, month, day) + 3600 * hour + 60 * minute + second - offset,
    nanos: Number(fraction.slice(1, 10).padEnd(9, "0")),
  };
}

function readOffset(reader: Reader): number {
  const text = reader.take(/Z|[+-]\d\d:\d\d/y, "Z07:00");
  if (text === "Z") return 0;
  const minutes = reader.within(Number(text.slice(4, 6)), 0, 60, "time zone offset minute");
  const hours = reader.within(Number(text.slice(1, 3)), 0, 24, "time zone offset hour");
  return (text[0] === "-" ? -60 : 60) * (60 * hours + minutes);
}

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
const daysIn = (year: number, month: number): number =>
  month === 2 ? (isLeap(year) ? 29 : 28) : month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;

/** Date.UTC takes the years 0 to 99 for those of the last century. */
const daysSince1970 = (year: number, month: number, day: number): number =>
  new Date(0).setUTCFullYear(year, month - 1, day) / 86_400_000;

function dateTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  const year = date.getUTCFullYear();
  return (year < 0 ? `-${pad(-year, 4)}` : pad(year, 4)) + date.toISOString().slice(-20, -5);
}

const pad = (value: number, width: number): string => String(value).padStart(width, "0");
