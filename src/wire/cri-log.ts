// The files in which container runtimes keep what containers write: `2026-01-01T00:00:00.123456789Z stdout F text`. The tag P marks a
// part of a line that goes on in the next record of the same stream. What a container wrote is bytes, whatever they mean.
// Upstream: staging/src/k8s.io/cri-client/pkg/logs/logs.go.

export type LogStream = "stdout" | "stderr";

export interface CriLogRecord {
  /** With all nine digits of its nanoseconds. */
  readonly time: string;
  readonly stream: LogStream;
  readonly isPartial: boolean;
  /** Where the text of the container begins. */
  readonly textAt: number;
}

const [space, colon, partial] = [32, 58, 80];
/** A head is at most so long: what has no text within that is no record. */
const longestHead = 128;

/** Undefined for what makes no sense: a file may end anywhere when a machine does. */
export function parseCriLogRecord(record: Uint8Array): CriLogRecord | undefined {
  const first = record.indexOf(space);
  const second = record.indexOf(space, first + 1);
  const third = record.indexOf(space, second + 1);
  if (first < 0 || second < 0 || third < 0 || third > longestHead) return undefined;
  const time = fixedTime(ascii(record.subarray(0, first)));
  const stream = ascii(record.subarray(first + 1, second));
  if (time === undefined || (stream !== "stdout" && stream !== "stderr")) return undefined;
  // Tags are separated by colons, and this one comes first.
  const isPartial = record[second + 1] === partial && (third === second + 2 || record[second + 2] === colon);
  return { time, stream, isPartial, textAt: third + 1 };
}

const ascii = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

function fixedTime(text: string): string | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  return match ? `${match[1]}.${(match[2] ?? "").padEnd(9, "0")}${match[3]}` : undefined;
}
