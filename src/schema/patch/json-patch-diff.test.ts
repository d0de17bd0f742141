import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepFreeze } from "#base/collections.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { createJsonPatch } from "./json-patch-diff.ts";

test("the patch names what differs", () => {
  const table: [unknown, unknown, unknown[]][] = [
    [{ a: 1 }, { a: 1 }, []],
    [
      { a: 1, b: 2 },
      { a: 2 },
      [
        { op: "remove", path: "/b" },
        { op: "replace", path: "/a", value: 2 },
      ],
    ],
    [{}, { "a/b~c": 1 }, [{ op: "add", path: "/a~1b~0c", value: 1 }]],
    [[1, 2, 3], [1, 3], [{ op: "remove", path: "/1" }]],
    [[1, 3], [1, 2, 3], [{ op: "add", path: "/1", value: 2 }]],
    [[{ a: 1 }, 5], [{ a: 2 }, 5], [{ op: "replace", path: "/0/a", value: 2 }]],
    [{ a: null }, {}, [{ op: "remove", path: "/a" }]],
    [{ a: {} }, { a: [] }, [{ op: "replace", path: "/a", value: [] }]],
  ];
  for (const [before, after, patch] of table) assert.deepEqual(createJsonPatch(before, after), patch);
});

test("the patch leads from one document to the other", () => {
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 1, "x"),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom("a", "b", "", "~/", "0", "-"), tie("value"), { noNullPrototype: true }),
    ),
  }));
  const document = fc.oneof(
    fc.array(value),
    fc.dictionary(fc.constantFrom("a", "b", "c"), value, { noNullPrototype: true }),
  );
  fc.assert(
    fc.property(document, document, (before, after) => {
      deepFreeze([before, after]);
      assert.deepEqual(applyJsonPatch(before, createJsonPatch(before, after)), after);
    }),
    { numRuns: 2000 },
  );
});
