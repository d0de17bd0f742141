import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  DurationError,
  formatDuration,
  humanDuration,
  parseDuration,
  parseDurationMs,
  shortHumanDuration,
} from "./duration.ts";

test("durations are read and written as Go does", () => {
  const table: [string, string][] = [
    ["0", "0s"],
    ["-0", "0s"],
    ["1h30m", "1h30m0s"],
    ["90m", "1h30m0s"],
    ["300ms", "300ms"],
    ["1.5s", "1.5s"],
    [".5s", "500ms"],
    ["1.s", "1s"],
    ["-1.5h", "-1h30m0s"],
    ["+5m", "5m0s"],
    ["100us", "100\u00b5s"],
    ["1\u03bcs1ns", "1.001\u00b5s"],
    ["999ns", "999ns"],
    ["2562047h47m16.854775807s", "2562047h47m16.854775807s"],
    ["-9223372036854775808ns", "-2562047h47m16.854775808s"],
    ["0.3333333333333333333h", "20m0s"],
  ];
  for (const [text, expected] of table) assert.equal(formatDuration(parseDuration(text)), expected, text);
  assert.equal(parseDurationMs("1m0.5s"), 60_500);
});

test("what is no duration is refused in Go's words", () => {
  const table: [string, string][] = [
    ["", 'time: invalid duration ""'],
    ["3", 'time: missing unit in duration "3"'],
    ["1h3", 'time: missing unit in duration "1h3"'],
    ["1d", 'time: unknown unit "d" in duration "1d"'],
    ["-", 'time: invalid duration "-"'],
    [".s", 'time: invalid duration ".s"'],
    ["s", 'time: invalid duration "s"'],
    ["1 h", 'time: unknown unit " h" in duration "1 h"'],
    ["9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'],
    ["2562048h", 'time: invalid duration "2562048h"'],
  ];
  for (const [text, message] of table)
    assert.throws(() => parseDuration(text), { name: "DurationError", message }, text);
});

test("people read two or three significant figures", () => {
  const [minute, hour, day, year] = [60, 3600, 86_400, 365 * 86_400];
  const table: [number, string, string][] = [
    [-2, "<invalid>", "<invalid>"],
    [-1, "0s", "0s"],
    [0, "0s", "0s"],
    [119, "119s", "1m"],
    [2 * minute, "2m", "2m"],
    [2 * minute + 1, "2m1s", "2m"],
    [10 * minute + 1, "10m", "10m"],
    [179 * minute, "179m", "2h"],
    [3 * hour, "3h", "3h"],
    [7 * hour + 30 * minute, "7h30m", "7h"],
    [8 * hour + 30 * minute, "8h", "8h"],
    [47 * hour, "47h", "1d"],
    [2 * day, "2d", "2d"],
    [7 * day + 23 * hour, "7d23h", "7d"],
    [8 * day + 23 * hour, "8d", "8d"],
    [2 * year - day, "729d", "1y"],
    [2 * year, "2y", "2y"],
    [7 * year + 3 * day, "7y3d", "7y"],
    [8 * year + 3 * day, "8y", "8y"],
  ];
  for (const [seconds, long, short] of table) {
    assert.equal(humanDuration(seconds * 1000), long);
    assert.equal(shortHumanDuration(seconds * 1000), short);
  }
});

test("any duration survives being written and read", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (nanos) => {
      assert.equal(parseDuration(formatDuration(nanos)), nanos);
    }),
  );
});

test("any text is read or refused with a DurationError", () => {
  const near = fc.string({ unit: fc.constantFrom(..."0123456789.hmsnu-+ \u00b5"), maxLength: 40 });
  fc.assert(
    fc.property(fc.oneof(near, fc.string({ unit: "binary" })), (text) => {
      try {
        parseDuration(text);
      } catch (error) {
        assert.ok(error instanceof DurationError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
  assert.throws(() => parseDuration(`${"9".repeat(1_000_000)}s`), DurationError);
});
