import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { difference, same } from "./same.ts";

const pairs: [a: unknown, b: unknown, expected: boolean][] = [
  [{ a: [] }, {}, true],
  [{ a: {} }, { a: undefined }, true],
  [{ limits: { cpu: "1" } }, { limits: { cpu: "1000m" } }, true],
  [{ limits: { cpu: "1" } }, { limits: { cpu: "2" } }, false],
  [{ name: "1" }, { name: "1000m" }, false],
  [{ a: [1, 2] }, { a: [2, 1] }, false],
  [{ a: false }, {}, false],
  [{ a: null }, {}, false],
];
for (const [a, b, expected] of pairs)
  test(`${JSON.stringify(a)} and ${JSON.stringify(b)} mean ${expected ? "the same" : "different things"}`, () => {
    assert.equal(same(a, b), expected);
    assert.equal(same(b, a), expected);
  });

test("a difference shows what changed with three lines around it", () => {
  const before = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8 };
  assert.equal(difference(before, before), "");
  assert.equal(
    difference(before, { ...before, e: 50 }),
    '@@ -3,7 +3,7 @@\n  "b": 2,\n  "c": 3,\n  "d": 4,\n- "e": 5,\n+ "e": 50,\n  "f": 6,\n  "g": 7,\n  "h": 8\n',
  );
});

/** What the old lines become when the difference is applied to them. */
function patched(lines: readonly string[], patch: string): readonly string[] {
  const result: string[] = [];
  let at = 0;
  for (const line of patch.split("\n").slice(0, -1)) {
    const header = /^@@ -(\d+)(?:,(\d+))? /.exec(line);
    if (header) {
      const start = header[2] === "0" ? Number(header[1]) : Number(header[1]) - 1;
      result.push(...lines.slice(at, start));
      at = start;
    } else if (line.startsWith("+")) result.push(line.slice(1));
    else {
      assert.equal(line.slice(1), lines[at]);
      if (line.startsWith(" ")) result.push(line.slice(1));
      at++;
    }
  }
  return [...result, ...lines.slice(at)];
}

test("a difference applied to the old is the new", () => {
  const values = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 30 });
  fc.assert(
    fc.property(values, values, (before, after) => {
      const lines = (value: unknown) => JSON.stringify(value, null, 1).split("\n");
      assert.deepEqual(patched(lines(before), difference(before, after)), lines(after));
    }),
  );
});
