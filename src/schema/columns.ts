// The columns that most kinds show, and the words their cells share.
import type { Column } from "./kind.ts";

/** What the cells below read of an object. */
interface Named {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string };
}

export const nameColumn: Column<Named> = {
  name: "Name",
  type: "string",
  format: "name",
  doc: "Unique among the objects of one kind and namespace; cannot change.",
  cell: ({ metadata }) => metadata.name,
};

export const ageColumn: Column<Named> = {
  name: "Age",
  doc: "Time since the object was created.",
  cell: ({ metadata }, now) => age(metadata.creationTimestamp, now),
};

/** For kinds that declare no columns. The client makes an age of the date. */
export const defaultColumns: readonly Column<Named>[] = [
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
  timestamp === undefined || timestamp === "" ? "<unknown>" : humanDuration(now - Date.parse(timestamp));

/** How long until a time comes. */
export const timeUntil = (timestamp: string | undefined, now: number): string =>
  timestamp === undefined || timestamp === "" ? "<unknown>" : humanDuration(Date.parse(timestamp) - now);

/** At most two units, and only one where the second says little: `90s`, `5m20s`, `47h`, `12d`. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  // Clocks of two machines may differ by a moment: just before now is now.
  if (!(seconds >= -1)) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return twoUnits(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return twoUnits(days, "d", hours % 24, "h");
  if (days < 2 * 365) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? twoUnits(years, "y", days % 365, "d") : `${years}y`;
}

const twoUnits = (many: number, unit: string, few: number, smaller: string): string =>
  few === 0 ? `${many}${unit}` : `${many}${unit}${few}${smaller}`;
