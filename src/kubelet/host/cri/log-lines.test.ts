import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LogReader } from "./log-lines.ts";

const log = [
  "2026-01-01T00:00:00.5Z stdout F one",
  "2026-01-01T00:00:01Z stdout P two ",
  "2026-01-01T00:00:01+02:00 stderr F other",
  "2026-01-01T00:00:02.123456789Z stdout F halves, höre",
  "2026-01-01T00:00:03Z stdout F ",
  "nonsense",
  "2026-01-01T00:00:04Z stdnone F no such stream",
  "2026-01-01T00:00:04Z stdout F:x with spaces  at end ",
  "2026-01-01T00:00:04Z stdout P:x part",
  "2026-01-01T00:00:05Z stdout F cut o",
].join("\n");
const expected = [
  "2026-01-01T00:00:00.500000000Z one\n",
  "2026-01-01T00:00:01.000000000Z two ",
  "2026-01-01T00:00:01.000000000+02:00 other\n",
  "2026-01-01T00:00:02.123456789Z halves, höre\n",
  "2026-01-01T00:00:03.000000000Z \n",
  "2026-01-01T00:00:04.000000000Z with spaces  at end \n",
  "2026-01-01T00:00:04.000000000Z part",
  "2026-01-01T00:00:05.000000000Z cut o",
];

test("entries are the same wherever what is read begins and ends", () => {
  const bytes = new TextEncoder().encode(log);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: bytes.length - 1 })), (cuts) => {
      const reader = new LogReader();
      const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
      const entries = ends.flatMap((end, i) => reader.read(bytes.subarray(ends[i - 1] ?? 0, end)));
      assert.deepEqual(
        [...entries, ...reader.end()].map(({ time, bytes: said }) => `${time} ${Buffer.from(said)}`),
        expected,
      );
    }),
  );
});

test("bytes that are no text stay as they are", () => {
  const said = Buffer.from([0xff, 0x00, 0xfe, 0x0d, 0x0a]);
  const [entry] = new LogReader().read(Buffer.concat([Buffer.from("2026-01-01T00:00:00Z stdout F "), said]));
  assert.deepEqual(Buffer.from(entry?.bytes ?? []), said);
});
