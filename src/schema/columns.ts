// The columns that most kinds show, and the words their cells share.
import { humanDuration } from "#base/duration.ts";
import type { Column } from "./kind.ts";

export { humanDuration };

/** What the cells below read of an object. */
interface NamedObject {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string };
}

export const nameColumn: Column<NamedObject> = {
  name: "Name",
  type: "string",
  format: "name",
  doc: "Unique among the objects of one kind and namespace; cannot change.",
  cell: ({ metadata }) => metadata.name,
};

export const ageColumn: Column<NamedObject> = {
  name: "Age",
  doc: "Time since the object was created.",
  cell: ({ metadata }, now) => age(metadata.creationTimestamp, now),
};

/** For kinds that declare no columns. The client makes an age of the date. */
export const defaultColumns: readonly Column<NamedObject>[] = [
  nameColumn,
  {
    name: "Created At",
    type: "date",
    doc: "When the server created the object.",
    cell: ({ metadata }) => metadata.creationTimestamp ?? "0001-01-01T00:00:00Z",
  },
];

/** How long ago a time was, for a person: `3d2h`. `now` is in milliseconds, as of `clock.now()`. */
export const age = (timestamp: string | undefined, now: number): string =>
  timestamp === undefined || timestamp === "" ? "<unknown>" : duration(now - Date.parse(timestamp));

/** How long until a time comes. */
export const timeUntil = (timestamp: string | undefined, now: number): string =>
  timestamp === undefined || timestamp === "" ? "<unknown>" : duration(Date.parse(timestamp) - now);

const duration = (millis: number): string => (Number.isNaN(millis) ? "<invalid>" : humanDuration(millis));
