// A write that changes nothing must not be stored because of the times in managedFields alone.
import { equal } from "#base/collections.ts";
import { isMap, type JsonMap } from "./value.ts";

/** `next`, with the times of `live` if the two differ in nothing but those. Call it last, after admission. */
export function keepTimes(live: JsonMap, next: JsonMap): JsonMap {
  const before = entriesOf(live);
  const after = entriesOf(next);
  if (after.length === 0 || before.length !== after.length) return next;
  if (after.every((entry, i) => entry.time === before[i]?.time)) return next;
  if (!equal(before.map(timeless), after.map(timeless)) || !equal(rest(live), rest(next))) return next;
  return { ...next, metadata: { ...(next.metadata as JsonMap), managedFields: before } };
}

function entriesOf({ metadata }: JsonMap): readonly JsonMap[] {
  const entries = isMap(metadata) ? metadata.managedFields : undefined;
  return Array.isArray(entries) ? entries.filter(isMap) : [];
}

const timeless = ({ time: _, ...entry }: JsonMap): JsonMap => entry;

function rest(object: JsonMap): JsonMap {
  const { managedFields: _, ...metadata } = object.metadata as JsonMap;
  return { ...object, metadata };
}
