import assert from "node:assert/strict";
import { test } from "node:test";
import { FieldSetError } from "./element.ts";
import { capUpdaters, decodeManaged, encodeManaged, isReset } from "./managed.ts";

const entry = (manager: string, more: object = {}) => ({
  manager,
  operation: "Update",
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:a": {} },
  ...more,
});
const at = (hour: number) => `2026-01-01T${String(hour).padStart(2, "0")}:00:00Z`;

test("entries are sorted by operation, time, manager, version and subresource", () => {
  const sorted = [
    entry("z", { operation: "Apply" }),
    entry("b", { operation: "Apply", time: at(1) }),
    entry("a", { operation: "Apply", time: at(2) }),
    entry("a", { time: at(1) }),
    entry("a", { time: at(1), subresource: "status" }),
    entry("a", { time: at(1), apiVersion: "v2" }),
    entry("b", { time: at(1) }),
    entry("a", { time: at(3), apiVersion: "v0" }),
  ];
  assert.deepEqual(encodeManaged(decodeManaged(sorted.toReversed())), sorted);
});

test("an applier is one owner in all its versions, an updater is one for each", () => {
  const versions = (operation: string) =>
    encodeManaged(decodeManaged([entry("a", { operation }), entry("a", { operation, apiVersion: "v2" })])).map(
      ({ apiVersion }) => apiVersion,
    );
  assert.deepEqual(versions("Apply"), ["v2"]);
  assert.deepEqual(versions("Update"), ["v1", "v2"]);
});

test("an entry that was read is written as it was", () => {
  const read = encodeManaged(decodeManaged([entry("a", { time: at(1) }), { ...entry(""), manager: undefined }]));
  assert.equal(encodeManaged(decodeManaged(read))[0], read[0]);
  assert.ok(!("manager" in (read[0] as object)));
});

test("what is no list of entries is refused", () => {
  const cases: [entries: unknown, message: string][] = [
    ["x", "managedFields must be a list"],
    [[1], "managed fields entry 0 must be an object"],
    [[entry("a"), { ...entry("b"), operation: "Patch" }], "operation must be `Apply` or `Update`"],
    [[entry("a", { apiVersion: "" })], "apiVersion must not be empty"],
    [[entry("a"), entry("b", { fieldsType: "" })], "missing fieldsType in managed fields entry 1"],
    [[entry("a", { fieldsType: "V2" })], 'invalid fieldsType "V2" in managed fields entry 0'],
    [[entry("a", { manager: 1 })], "manager of a managed fields entry must be a string"],
    [[entry("a", { fieldsV1: { a: {} } })], "parsing key as path element: key must be 2 characters long:"],
  ];
  for (const [entries, message] of cases)
    assert.throws(
      () => decodeManaged(entries),
      (error) => error instanceof FieldSetError && error.message === message,
      message,
    );
});

test("only an empty list, or one empty entry, is a wish to start anew", () => {
  for (const entries of [[], [{}]]) assert.equal(isReset(entries), true);
  for (const entries of [undefined, null, {}, [{}, {}], [entry("a")]]) assert.equal(isReset(entries), false);
});

test("the oldest updaters beyond the limit are merged, one bucket for each version", () => {
  type Line = [manager: string, version: string, hour: number, fields: string];
  const old = "ancient-changes";
  const cases: [before: Line[], after: Line[]][] = [
    [
      [
        ["a", "v1", 1, "a"],
        ["b", "v1", 2, "b"],
        ["c", "v1", 3, "c"],
      ],
      [
        ["a", "v1", 1, "a"],
        ["b", "v1", 2, "b"],
        ["c", "v1", 3, "c"],
      ],
    ],
    [
      [
        ["a", "v1", 1, "a"],
        ["b", "v1", 2, "b"],
        ["c", "v1", 3, "c"],
        ["d", "v1", 4, "d"],
      ],
      [
        [old, "v1", 2, "ab"],
        ["c", "v1", 3, "c"],
        ["d", "v1", 4, "d"],
      ],
    ],
    [
      [
        [old, "v1", 2, "ab"],
        ["c", "v1", 3, "c"],
        ["d", "v1", 4, "d"],
        ["e", "v1", 5, "e"],
      ],
      [
        [old, "v1", 3, "abc"],
        ["d", "v1", 4, "d"],
        ["e", "v1", 5, "e"],
      ],
    ],
    [
      [
        ["a", "v1", 1, "a"],
        ["b", "v2", 2, "b"],
        ["c", "v1", 3, "c"],
        ["d", "v1", 4, "d"],
        ["e", "v1", 5, "e"],
      ],
      [
        ["b", "v2", 2, "b"],
        [old, "v1", 4, "acd"],
        ["e", "v1", 5, "e"],
      ],
    ],
    [
      [
        [old, "v1", 5, "a"],
        ["f", "v3", 6, "f"],
        [old, "v2", 7, "g"],
        ["h", "v4", 8, "h"],
      ],
      [
        [old, "v1", 5, "a"],
        ["f", "v3", 6, "f"],
        [old, "v2", 7, "g"],
        ["h", "v4", 8, "h"],
      ],
    ],
    // A bucket that is not the oldest loses nothing.
    [
      [
        ["a", "v1", 1, "a"],
        [old, "v1", 2, "x"],
        ["c", "v1", 3, "c"],
        ["d", "v1", 4, "d"],
      ],
      [
        [old, "v1", 2, "ax"],
        ["c", "v1", 3, "c"],
        ["d", "v1", 4, "d"],
      ],
    ],
  ];
  const entries = (lines: readonly Line[]) =>
    lines.map(([manager, apiVersion, hour, fields]) =>
      entry(manager, {
        apiVersion,
        time: at(hour),
        fieldsV1: Object.fromEntries([...fields].map((name) => [`f:${name}`, {}])),
      }),
    );
  for (const [before, after] of cases)
    assert.deepEqual(encodeManaged(capUpdaters(decodeManaged(entries(before)), 3)), entries(after));
});
