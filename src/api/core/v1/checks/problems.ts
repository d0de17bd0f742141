// Small tools of the checks. Where all is well, as nearly always, they make nothing. Neither do checks that every pod meets: they answer
// lists and are no generators, of which one that yields nothing costs as much as ten comparisons.
import { type Format, invalid, mostProblems, notSupported, type Problem, required } from "#schema/index.ts";

/** What a format has to say about a value, at a path. The value is shown even where the path leads elsewhere. */
export function malformed(path: string, value: string, format: Format): readonly Problem[] {
  const messages = format(value);
  return messages.length === 0 ? none : messages.map((message) => invalid(path, message, value));
}

/** The problems of a part, seen from the whole; no more of them than are told. */
export function under(path: string, problems: Iterable<Problem>): readonly Problem[] {
  let found: Problem[] | undefined;
  for (const problem of problems) {
    found ??= [];
    found.push({ ...problem, field: join(path, problem.field) });
    if (found.length >= mostProblems) break;
  }
  return found ?? none;
}

const join = (path: string, field: string): string =>
  field === "" || field.startsWith("[") ? `${path}${field}` : path === "" ? field : `${path}.${field}`;

/** Items with their paths: `containers[0]`. */
export const each = <T>(path: string, items: readonly T[] | undefined): readonly (readonly [at: string, item: T])[] =>
  items === undefined ? none : items.map((item, index) => [`${path}[${index}]`, item] as const);
/** Nothing is wrong. */
export const none: readonly never[] = [];

export const isEmpty = (value: object | undefined): boolean => value === undefined || Object.keys(value).length === 0;

/** Go writes strings in messages with %q. */
export const quoted = (text: string): string => JSON.stringify(text);

/** One of some words, told in the order upstream tells them. */
export function oneOf(at: string, value: string, supported: readonly string[]): readonly Problem[] {
  if (value === "") return [required(at)];
  return supported.includes(value) ? none : [notSupported(at, supported, value)];
}
