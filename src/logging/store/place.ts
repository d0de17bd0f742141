// Where a line is in the store, and when it was written: together they put all lines into one order.
import type { Instant } from "#schema/time.ts";

/** In order of arrival. */
export interface Place {
  readonly segment: number;
  readonly offset: number;
}

export interface Moment extends Instant, Place {}

export const comparePlaces = (a: Place, b: Place): number => a.segment - b.segment || a.offset - b.offset;
export const compareInstants = (a: Instant, b: Instant): number => a.seconds - b.seconds || a.nanos - b.nanos;
export const compareMoments = (a: Moment, b: Moment): number => compareInstants(a, b) || comparePlaces(a, b);

export const formatPlace = ({ segment, offset }: Place): string => `${segment}.${offset}`;
export const formatMoment = (moment: Moment): string => `${moment.seconds}.${moment.nanos}.${formatPlace(moment)}`;

/** Undefined for what is none. */
export function parsePlace(text: string): Place | undefined {
  const numbers = numbersIn(text);
  const [segment, offset] = numbers;
  return numbers.length === 2 && segment !== undefined && offset !== undefined ? { segment, offset } : undefined;
}

export function parseMoment(text: string): Moment | undefined {
  const [seconds, nanos, ...rest] = numbersIn(text);
  const [segment, offset] = rest;
  if (seconds === undefined || nanos === undefined || segment === undefined || offset === undefined) return undefined;
  return rest.length === 2 ? { seconds, nanos, segment, offset } : undefined;
}

const numbersIn = (text: string): readonly number[] =>
  /^\d{1,15}(\.\d{1,15})*$/.test(text) ? text.split(".").map(Number) : [];
