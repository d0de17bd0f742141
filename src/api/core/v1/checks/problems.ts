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

/** Whether two items have the same in a field. As long as they are few, each is compared with those before it, which makes nothing. */
export function hasRepeats<K extends string>(items: readonly { readonly [Key in K]?: unknown }[], field: K): boolean {
  if (items.length > few) return new Set(items.map((item) => item[field])).size < items.length;
  for (let i = 1; i < items.length; i++)
    for (let before = 0; before < i; before++) if (items[before]?.[field] === items[i]?.[field]) return true;
  return false;
}

/** Finds items by their name, without making anything as long as they are few. */
export function byName<T extends { readonly name: string }>(items: readonly T[]): (name: string) => T | undefined {
  if (items.length <= few) return (name) => items.findLast((item) => item.name === name);
  const named = new Map(items.map((item) => [item.name, item]));
  return (name) => named.get(name);
}

const few = 16;

export const isEmpty = (value: object | undefined): boolean => value === undefined || Object.keys(value).length === 0;

/** Go writes strings in messages with %q. */
export const quoted = (text: string): string => JSON.stringify(text);

/** One of some words, told in the order upstream tells them. */
export function oneOf(at: string, value: string, supported: readonly string[]): readonly Problem[] {
  if (value === "") return [required(at)];
  return supported.includes(value) ? none : [notSupported(at, supported, value)];
}
