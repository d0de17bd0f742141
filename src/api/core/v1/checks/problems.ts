// Small tools of the checks.
import { type Format, invalid, notSupported, type Problem, required } from "#schema/index.ts";

/** What a format has to say about a value, at a path. The value is shown even where the path leads elsewhere. */
export function* malformed(path: string, value: string, format: Format): Iterable<Problem> {
  for (const message of format(value)) yield invalid(path, message, value);
}

/** The problems of a part, seen from the whole. */
export function* under(path: string, problems: Iterable<Problem>): Iterable<Problem> {
  for (const problem of problems) yield { ...problem, field: join(path, problem.field) };
}

const join = (path: string, field: string): string =>
  field === "" || field.startsWith("[") ? `${path}${field}` : path === "" ? field : `${path}.${field}`;

/** Items with their paths: `containers[0]`. */
export const each = <T>(path: string, items: readonly T[] | undefined): readonly (readonly [at: string, item: T])[] =>
  items === undefined ? none : items.map((item, index) => [`${path}[${index}]`, item] as const);
const none: readonly never[] = [];

export const isEmpty = (value: object | undefined): boolean => value === undefined || Object.keys(value).length === 0;

/** Go writes strings in messages with %q. */
export const quoted = (text: string): string => JSON.stringify(text);

/** One of some words, told in the order upstream tells them. */
export function* oneOf(at: string, value: string, supported: readonly string[]): Iterable<Problem> {
  if (value === "") yield required(at);
  else if (!supported.includes(value)) yield notSupported(at, supported, value);
}
