import assert from "node:assert/strict";
import { test } from "node:test";
import { age, timeUntil } from "./columns.ts";

test("an absent time has no age", () => {
  const now = Date.parse("2026-01-01T00:01:00Z");
  assert.equal(age("2026-01-01T00:00:00Z", now), "60s");
  assert.equal(age(undefined, now), "<unknown>");
  assert.equal(age("yesterday", now), "<invalid>");
  assert.equal(timeUntil("2026-01-01T00:02:00Z", now), "60s");
  assert.equal(timeUntil(undefined, now), "<unknown>");
});
