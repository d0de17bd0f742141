// Lists and maps that a client sent empty. Decoding drops them where they would not be written again, but upstream shows them as
// they came when it refuses the object: `[]` or `{}`, and `null` only for what was not sent at all. Only refusals read this, so it is
// kept beside the objects: whoever compares, copies or writes them never meets it.
const emptied = new WeakMap<object, ReadonlyMap<string, object>>();

/** Remembers the empty lists and maps that were dropped from an object. */
export function noteSentEmpty(holder: object, dropped: ReadonlyMap<string, object>): void {
  emptied.set(holder, dropped);
}

/** The empty list or map that was sent as this field; undefined if none was. */
export const sentEmpty = (holder: unknown, field: string): object | undefined =>
  typeof holder === "object" && holder !== null ? emptied.get(holder)?.get(field) : undefined;

/** Marks the copy as sent empty in the same fields as the original, and returns it. */
export function sentAs<T extends object>(original: object, copy: T): T {
  const dropped = emptied.get(original);
  if (dropped && copy !== original) emptied.set(copy, dropped);
  return copy;
}
