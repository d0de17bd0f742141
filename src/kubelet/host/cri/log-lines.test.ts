import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LogReader } from "./log-lines.ts";

const log = [
  "2026-01-01T00:00:00.5Z stdout F one",
  "2026-01-01T00:00:01Z stdout P two ",
  "2026-01-01T00:00:01Z stderr F other",
  "2026-01-01T00:00:02Z stdout F halves, höre",
  "2026-01-01T00:00:03Z stdout F ",
  "nonsense",
  "2026-01-01T00:00:04Z stdout F:x with spaces  at end ",
  "",
].join("\n");
const expected = ["one", "other", "two halves, höre", "", "with spaces  at end "];

test("lines are put together of their parts, wherever what is read begins and ends", () => {
  const bytes = new TextEncoder().encode(log);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: bytes.length - 1 })), (cuts) => {
      const reader = new LogReader();
      const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
      const lines = ends.flatMap((end, i) => reader.read(bytes.subarray(ends[i - 1] ?? 0, end)));
      assert.deepEqual(
        lines.map(({ text }) => text),
        expected,
      );
      assert.equal(lines[0]?.at, Date.parse("2026-01-01T00:00:00.500Z"));
    }),
  );
});
