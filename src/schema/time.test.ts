import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  canonicalMicroTime,
  canonicalTime,
  formatMicroTime,
  formatTime,
  instantOf,
  microTimeOf,
  millisOf,
  parseMicroTime,
  parseTime,
  TimeError,
  timeOf,
} from "./time.ts";

test("a time is written in UTC and whole seconds", () => {
  const table: [string, string][] = [
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"],
    ["2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z"],
    ["2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05Z"],
    ["2026-01-02T03:04:05.123456789123Z", "2026-01-02T03:04:05Z"],
    ["2026-01-02T03:04:05+01:30", "2026-01-02T01:34:05Z"],
    ["2026-01-01T00:00:00+24:60", "2025-12-30T23:00:00Z"],
    ["2026-01-02T3:04:05-05:00", "2026-01-02T08:04:05Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
    ["0000-01-01T00:00:00+00:01", "-0001-12-31T23:59:00Z"],
    ["9999-12-31T23:59:59-00:01", "10000-01-01T00:00:59Z"],
  ];
  for (const [text, expected] of table) assert.equal(canonicalTime(text), expected);
});

test("a micro time has six decimals, no more and no less", () => {
  assert.equal(canonicalMicroTime("2026-01-02T03:04:05.000001Z"), "2026-01-02T03:04:05.000001Z");
  assert.equal(canonicalMicroTime("2026-01-02T03:04:05,120000+01:00"), "2026-01-02T02:04:05.120000Z");
  const layout = '"2006-01-02T15:04:05.000000Z07:00"';
  const table: [string, string][] = [
    ["2026-01-02T03:04:05Z", `parsing time "2026-01-02T03:04:05Z" as ${layout}: cannot parse "Z" as ".000000"`],
    [
      "2026-01-02T03:04:05.12Z",
      `parsing time "2026-01-02T03:04:05.12Z" as ${layout}: cannot parse ".12Z" as ".000000"`,
    ],
    [
      "2026-01-02T03:04:05.1234567Z",
      `parsing time "2026-01-02T03:04:05.1234567Z" as ${layout}: cannot parse "7Z" as "Z07:00"`,
    ],
  ];
  for (const [text, message] of table) assert.throws(() => canonicalMicroTime(text), { name: "TimeError", message });
});

test("what is no time is refused in Go's words", () => {
  const layout = '"2006-01-02T15:04:05Z07:00"';
  const table: [string, string][] = [
    ["", `parsing time "" as ${layout}: cannot parse "" as "2006"`],
    ["tomorrow", `parsing time "tomorrow" as ${layout}: cannot parse "tomorrow" as "2006"`],
    ["2026-01-02", `parsing time "2026-01-02" as ${layout}: cannot parse "" as "T"`],
    ["2026-01-02 03:04:05Z", `parsing time "2026-01-02 03:04:05Z" as ${layout}: cannot parse " 03:04:05Z" as "T"`],
    ["2026-01-02T03:04:05", `parsing time "2026-01-02T03:04:05" as ${layout}: cannot parse "" as "Z07:00"`],
    ["2026-13-02T03:04:05Z", 'parsing time "2026-13-02T03:04:05Z": month out of range'],
    ["2026-02-29T03:04:05Z", 'parsing time "2026-02-29T03:04:05Z": day out of range'],
    ["2026-01-02T24:04:05Z", 'parsing time "2026-01-02T24:04:05Z": hour out of range'],
    ["2026-01-02T03:60:05Z", 'parsing time "2026-01-02T03:60:05Z": minute out of range'],
    ["2026-01-02T03:04:60Z", 'parsing time "2026-01-02T03:04:60Z": second out of range'],
    ["2026-01-02T03:04:05+25:00", 'parsing time "2026-01-02T03:04:05+25:00": time zone offset hour out of range'],
    ['2026-01-02T03:04:05Zé"', 'parsing time "2026-01-02T03:04:05Z\\xc3\\xa9\\"": extra text: "\\xc3\\xa9\\""'],
  ];
  for (const [text, message] of table) assert.throws(() => canonicalTime(text), { name: "TimeError", message });
});

test("milliseconds become times and back", () => {
  assert.equal(timeOf(0), "1970-01-01T00:00:00Z");
  assert.equal(timeOf(1_767_323_045_999), "2026-01-02T03:04:05Z");
  assert.equal(microTimeOf(1_767_323_045_999.25), "2026-01-02T03:04:05.999250Z");
  assert.equal(microTimeOf(-1), "1969-12-31T23:59:59.999000Z");
  assert.equal(millisOf("2026-01-02T03:04:05.250Z"), 1_767_323_045_250);
  fc.assert(
    fc.property(fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }), fc.nat(999_999), (seconds, micros) => {
      const instant = { seconds, nanos: micros * 1000 };
      assert.deepEqual(parseMicroTime(formatMicroTime(instant)), instant);
      assert.deepEqual(parseTime(formatTime(instant)), { seconds, nanos: 0 });
      assert.equal(canonicalMicroTime(formatMicroTime(instant)), formatMicroTime(instant));
      assert.equal(formatTime(instant), new Date(seconds * 1000).toISOString().replace(".000", ""));
      assert.deepEqual(instantOf(seconds * 1000), { seconds, nanos: 0 });
    }),
  );
});

test("any text is read or refused with a TimeError", () => {
  const valid = fc.constantFrom("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000+01:00");
  const damaged = fc
    .tuple(valid, fc.nat(30), fc.string({ unit: fc.constantFrom(..."0129-+:.,TZ é"), maxLength: 2 }), fc.nat(2))
    .map(([text, at, more, less]) => text.slice(0, at) + more + text.slice(at + less));
  fc.assert(
    fc.property(fc.oneof(damaged, fc.string({ unit: "binary" })), (text) => {
      for (const canonical of [canonicalTime, canonicalMicroTime]) {
        try {
          const result = canonical(text);
          assert.equal(canonical(result), result);
        } catch (error) {
          assert.ok(error instanceof TimeError, String(error));
        }
      }
    }),
    { numRuns: 10_000 },
  );
});
