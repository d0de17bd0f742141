import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDefaults } from "./defaults.ts";
import { int32, list, map, microTime, ref, string, time } from "./field.ts";
import { struct } from "./struct.ts";
import { asHeld, asWritten } from "./written.ts";

const Condition = struct("t/v1.Condition", {
  type: string(1).required(),
  lastProbeTime: time(2),
  since: time(3).pointer(),
  created: time(4).omitZero(),
  seen: microTime(5).required(),
});
const Reference = struct("t/v1.Reference", { group: string(1).nullable(), name: string(2) });
const Plain = struct("t/v1.Plain", { count: int32(1), names: list(2, "string") });
const Thing = struct("t/v1.Thing", {
  conditions: list(1, Condition),
  rules: list(2, "string").required(),
  sent: list(3, "string").required().omitEmpty(),
  answers: list(4, "string").required().keepsEmpty(),
  byName: map(5, Condition),
  owner: ref(6, Reference),
  plain: ref(7, Plain),
});

test("a time that is not set, an empty list that is always written and a pointer without omitempty are written as null", () => {
  const thing = applyDefaults(Thing, {
    conditions: [{ type: "A" }, { type: "B", lastProbeTime: "2026-01-01T00:00:00Z" }],
    byName: { a: { type: "C" } },
    owner: { name: "x" },
    plain: { count: 1 },
  });
  assert.deepEqual(asWritten(Thing, thing), {
    conditions: [
      { type: "A", lastProbeTime: null, seen: null },
      { type: "B", lastProbeTime: "2026-01-01T00:00:00Z", seen: null },
    ],
    rules: null,
    answers: [],
    byName: { a: { type: "C", lastProbeTime: null, seen: null } },
    owner: { name: "x", group: null },
    plain: { count: 1 },
  });
});

test("what is written reads as what was held", () => {
  const thing = applyDefaults(Thing, {
    conditions: [{ type: "A", since: "2026-01-01T00:00:00Z" }],
    byName: { a: { type: "C" } },
    owner: { name: "x" },
  });
  const before = structuredClone(thing);
  const read = asHeld(Thing, JSON.parse(JSON.stringify(asWritten(Thing, thing))));
  assert.deepEqual(read, before);
  assert.deepEqual(thing, before, "the object itself is left alone");
  assert.equal(JSON.stringify(asWritten(Thing, read)), JSON.stringify(asWritten(Thing, thing)), "the same bytes again");
});

test("nothing is copied where there is no null to write", () => {
  const thing = {
    conditions: [{ type: "A", lastProbeTime: "2026-01-01T00:00:00Z", seen: "2026-01-01T00:00:00.000000Z" }],
    rules: ["a"],
    plain: { names: [] },
  };
  assert.equal(asWritten(Thing, thing), thing);
  assert.equal(asWritten(Plain, thing.plain), thing.plain);
});
