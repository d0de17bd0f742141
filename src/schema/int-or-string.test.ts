import assert from "node:assert/strict";
import { test } from "node:test";
import { intValueOf, PercentError, percentOf, scaledValueOf } from "./int-or-string.ts";

test("a percentage is scaled and rounded, a number is itself", () => {
  const table: [number | string, number, "up" | "down", number][] = [
    [3, 10, "up", 3],
    [-1, 10, "down", -1],
    ["25%", 10, "up", 3],
    ["25%", 10, "down", 2],
    ["0%", 10, "up", 0],
    ["100%", 7, "down", 7],
    ["200%", 7, "down", 14],
    ["-10%", 15, "up", -1],
    ["-10%", 15, "down", -2],
    ["+1%", 1, "up", 1],
  ];
  for (const [value, total, rounding, expected] of table)
    assert.equal(scaledValueOf(value, total, rounding) + 0, expected, `${value} of ${total} ${rounding}`);
});

test("other text is refused in upstream's words", () => {
  const table: [string, string][] = [
    ["5", "invalid value for IntOrString: invalid type: string is not a percentage"],
    ["", "invalid value for IntOrString: invalid type: string is not a percentage"],
    ["x%", 'invalid value for IntOrString: invalid value "x%": strconv.Atoi: parsing "x": invalid syntax'],
    ["%", 'invalid value for IntOrString: invalid value "%": strconv.Atoi: parsing "": invalid syntax'],
    ["1.5%", 'invalid value for IntOrString: invalid value "1.5%": strconv.Atoi: parsing "1.5": invalid syntax'],
    [
      "9223372036854775808%",
      'invalid value for IntOrString: invalid value "9223372036854775808%": strconv.Atoi: parsing "9223372036854775808": value out of range',
    ],
  ];
  for (const [text, message] of table) assert.throws(() => percentOf(text), { name: "PercentError", message });
  assert.throws(() => scaledValueOf(`${"9".repeat(1_000_000)}%`, 1, "up"), PercentError);
});

test("text that is no number counts as 0", () => {
  assert.deepEqual(["80", "http", "", "-1", 8080].map(intValueOf), [80, 0, 0, -1, 8080]);
});
