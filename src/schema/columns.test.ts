import assert from "node:assert/strict";
import { test } from "node:test";
import { age, humanDuration, timeUntil } from "./columns.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

test("durations are said in at most two units", () => {
  const table: readonly (readonly [number, string])[] = [
    [-2 * second, "<invalid>"],
    [-1.9 * second, "0s"],
    [0, "0s"],
    [999, "0s"],
    [119 * second, "119s"],
    [2 * minute, "2m"],
    [2 * minute + second, "2m1s"],
    [10 * minute - second, "9m59s"],
    [10 * minute + 5 * second, "10m"],
    [179 * minute, "179m"],
    [3 * hour, "3h"],
    [7 * hour + 59 * minute, "7h59m"],
    [8 * hour + 10 * minute, "8h"],
    [47 * hour, "47h"],
    [48 * hour, "2d"],
    [49 * hour, "2d1h"],
    [8 * day - hour, "7d23h"],
    [8 * day + hour, "8d"],
    [729 * day, "729d"],
    [730 * day, "2y"],
    [731 * day, "2y1d"],
    [8 * 365 * day - day, "7y364d"],
    [8 * 365 * day + day, "8y"],
    [Number.NaN, "<invalid>"],
  ];
  for (const [ms, text] of table) assert.equal(humanDuration(ms), text, `${ms} ms`);
});

test("an absent time has no age", () => {
  const now = Date.parse("2026-01-01T00:01:00Z");
  assert.equal(age("2026-01-01T00:00:00Z", now), "60s");
  assert.equal(age(undefined, now), "<unknown>");
  assert.equal(age("yesterday", now), "<invalid>");
  assert.equal(timeUntil("2026-01-01T00:02:00Z", now), "60s");
  assert.equal(timeUntil(undefined, now), "<unknown>");
});
