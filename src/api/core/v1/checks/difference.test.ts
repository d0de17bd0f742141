import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { difference } from "./difference.ts";

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

test("of several equal lines, a difference keeps those of the longest run", () => {
  const item = (name: string) => ({ name, kind: null, size: null });
  assert.equal(
    difference([item("a"), item("b"), item("c")], [item("a"), item("c")]),
    `@@ -1,11 +1,6 @@
 [
  {
   "name": "a",
-  "kind": null,
-  "size": null
- },
- {
-  "name": "b",
   "kind": null,
   "size": null
  },
`,
  );
});

test("of 200 lines and more, those that are very frequent begin no run of equal lines", () => {
  const same = Array.from({ length: 120 }, () => "same");
  const rare = Array.from({ length: 90 }, (_, i) => `line ${i}`);
  const told = difference([...same, ...rare, "end"], [...rare, ...same, "end"]).split("\n");
  const removed = (text: string) => told.filter((line) => line.startsWith(`- "${text}`)).length;
  assert.deepEqual([removed("same"), removed("line")], [120, 0]);
});
