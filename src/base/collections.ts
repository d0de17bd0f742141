// Small things done with values, lists and objects.

/** Deep equality of JSON values. An absent field and an undefined one are equal. */
export function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b) || a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => equal(item, b[i]));
  }
  if (a instanceof Uint8Array || b instanceof Uint8Array)
    return a instanceof Uint8Array && b instanceof Uint8Array && a.length === b.length && a.every((x, i) => x === b[i]);
  // They have no keys of their own, and would all be equal.
  if (a instanceof Map || b instanceof Map || a instanceof Set || b instanceof Set)
    throw new TypeError("equal compares what JSON can say, not a Map or a Set");
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(left)) if (!equal(left[key], own(right, key))) return false;
  for (const key of Object.keys(right)) if (right[key] !== undefined && own(left, key) === undefined) return false;
  return true;
}

/** The field of an object, without what it inherits (`constructor`, `__proto__`). */
export const own = <T>(object: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/** Sets a field even when it is called `__proto__`, where plain assignment would change the object's prototype. */
export function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

/** Freezes a JSON value and all it holds, so that changing what is shared throws instead of spreading. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value) || value instanceof Uint8Array)
    return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}

/** Tells of each item it is asked about in turn whether it was asked about it before. Asking a list takes longer the longer the list is. */
export function repeats<T>(): (item: T) => boolean {
  const seen = new Set<T>();
  return (item) => {
    const { size } = seen;
    return seen.add(item).size === size;
  };
}

/** Of items that have the same name, the first: to look one up does not take longer the more there are. */
export function firstByName<T extends { readonly name: string }>(items: readonly T[] = []): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const item of items) if (!found.has(item.name)) found.set(item.name, item);
  return found;
}

/** The smallest number, or undefined of none. */
export const min = (numbers: readonly number[]): number | undefined =>
  numbers.length === 0 ? undefined : numbers.reduce((a, b) => Math.min(a, b));

/** Runs `work` over all items, at most `limit` at a time; the first failure stops new ones and is thrown. */
export async function inBatches<T>(limit: number, items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failed = false;
  const worker = async () => {
    for (let next = iterator.next(); !next.done && !failed; next = iterator.next()) {
      try {
        await work(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: limit }, worker));
  const failure = results.find((result) => result.status === "rejected");
  if (failure) throw failure.reason;
}

/** Calls `work` `count` times in batches of 1, 2, 4, …, stopping at the first batch that fails: a broken template costs few calls. */
export async function slowStart(count: number, work: (index: number) => Promise<void>): Promise<void> {
  for (let started = 0, batch = 1; started < count; started += batch, batch *= 2) {
    const size = Math.min(batch, count - started);
    const results = await Promise.allSettled(Array.from({ length: size }, (_, i) => work(started + i)));
    const failure = results.find((result) => result.status === "rejected");
    if (failure) throw failure.reason;
  }
}
