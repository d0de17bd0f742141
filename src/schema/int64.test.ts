import assert from "node:assert/strict";
import { test } from "node:test";
import { int64Problem, nextInt64, parseInt64 } from "./int64.ts";

test("numbers of 64 bits are read exactly", () => {
  const table: readonly [string, bigint | undefined][] = [
    ["0", 0n],
    ["+7", 7n],
    ["-7", -7n],
    ["000000000000000000000000000012", 12n],
    ["3546343826724305832", 3546343826724305832n],
    ["9223372036854775807", 2n ** 63n - 1n],
    ["-9223372036854775808", -(2n ** 63n)],
    ["9223372036854775808", undefined],
    ["", undefined],
    ["1_000", undefined],
    ["0x10", undefined],
    ["1.0", undefined],
    [" 1", undefined],
  ];
  for (const [text, value] of table) assert.equal(parseInt64(text), value, text);
  assert.equal(nextInt64(2n ** 63n - 1n), -(2n ** 63n));
  assert.equal(int64Problem("x"), 'strconv.ParseInt: parsing "x": invalid syntax');
  assert.equal(int64Problem("9".repeat(30)), `strconv.ParseInt: parsing "${"9".repeat(30)}": value out of range`);
});
