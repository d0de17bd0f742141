import assert from "node:assert/strict";
import { test } from "node:test";
import { warningHeaders } from "./warning.ts";

test("a warning is quoted, and what quoting uses is escaped", () =>
  assert.deepEqual(warningHeaders(['unknown field "a\\b"']), ['299 - "unknown field \\"a\\\\b\\""']));

test("what is beyond ASCII goes out as the bytes of UTF-8", () => {
  const [value = ""] = warningHeaders(["é😀"]);
  assert.equal(Buffer.from(value, "latin1").toString("utf8"), '299 - "é😀"');
});

test("what cannot stand in a header is left out", () =>
  assert.deepEqual(warningHeaders(["a\nb", "\u0000", "\ud800", "", "fine"]), ['299 - "fine"']));

test("warnings that are too long together are cut, and then left out", () => {
  const values = warningHeaders(Array.from({ length: 40 }, (_, i) => `${i} `.repeat(200)));
  assert.equal(values.length, 16);
  assert.ok(values.every((value) => value.length === 256 + '299 - ""'.length));
});
