import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepFreeze } from "#base/collections.ts";
import { diff, same } from "./diff.ts";
import { bool, int32, json, list, map, microTime, ref, string, struct, time } from "./index.ts";
import { arbitraryOf } from "./testing/arbitrary.ts";

const Port = struct("test/v1.Port", {
  port: int32(1).required(),
  protocol: string(2).default("TCP"),
  name: string(3),
});
const Atom = struct("test/v1.Atom", { a: string(1), b: string(2) }, { atomic: true });
const Inner = struct("test/v1.Inner", { value: string(1), flag: bool(2).pointer() });
const Thing = struct("test/v1.Thing", {
  name: string(1),
  count: int32(2),
  replicas: int32(3).pointer(),
  limits: map(4, "quantity"),
  at: time(5),
  atMicro: microTime(6),
  tags: list(7, "string").asSet(),
  ports: list(8, Port).keyedBy("port", "protocol"),
  words: list(9, "string"),
  labels: map(10, "string"),
  parts: map(11, "string").atomic(),
  inner: ref(12, Inner),
  always: ref(13, Inner).default({}),
  atom: ref(14, Atom),
  raw: json(15),
});
const changes = (a: object, b: object) =>
  [...diff(Thing, { ...a }, { ...b })].map(({ path, before, after }) => [path, before, after]);

test("what is written differently and means the same does not differ", () => {
  const table: [string, object, object][] = [
    ["amounts", { limits: { cpu: "1000m", memory: "1Gi" } }, { limits: { cpu: "1", memory: "1024Mi" } }],
    ["times", { at: "2026-01-01T01:00:00+01:00" }, { at: "2026-01-01T00:00:00.5Z" }],
    ["micro times", { atMicro: "2026-01-01T01:00:00.000001+01:00" }, { atMicro: "2026-01-01T00:00:00.000001Z" }],
    ["sets", { tags: ["a", "b"] }, { tags: ["b", "a"] }],
    ["keyed lists", { ports: [{ port: 1 }, { port: 2 }] }, { ports: [{ port: 2, protocol: "TCP" }, { port: 1 }] }],
    ["zero and absent", { name: "", count: 0, tags: [], labels: {}, always: {} }, {}],
    ["undefined and absent", { name: undefined }, {}],
  ];
  for (const [what, a, b] of table) {
    assert.deepEqual(changes(a, b), [], what);
    assert.ok(same(Thing, { ...b }, { ...a }), what);
  }
});

test("changes are named by their path", () => {
  const table: [object, object, unknown[][]][] = [
    [{ name: "a" }, { name: "b" }, [["name", "a", "b"]]],
    [{}, { replicas: 0 }, [["replicas", undefined, 0]]],
    [{ limits: { cpu: "1" } }, { limits: { cpu: "2" } }, [["limits[cpu]", "1", "2"]]],
    [{ limits: { cpu: "bad" } }, { limits: { cpu: "1" } }, [["limits[cpu]", "bad", "1"]]],
    [
      { at: "2026-01-01T00:00:00Z" },
      { at: "2026-01-01T00:00:01Z" },
      [["at", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"]],
    ],
    [
      { tags: ["a", "b"] },
      { tags: ["b", "c"] },
      [
        ['tags["a"]', "a", undefined],
        ['tags["c"]', undefined, "c"],
      ],
    ],
    [
      { ports: [{ port: 1, name: "x" }, { port: 2 }] },
      { ports: [{ port: 3 }, { port: 1, name: "y" }] },
      [
        ['ports[port=1,protocol="TCP"].name', "x", "y"],
        ['ports[port=2,protocol="TCP"]', { port: 2 }, undefined],
        ['ports[port=3,protocol="TCP"]', undefined, { port: 3 }],
      ],
    ],
    [{ words: ["a"] }, { words: ["a", "b"] }, [["words", ["a"], ["a", "b"]]]],
    [{}, { words: ["b"] }, [["words", undefined, ["b"]]]],
    [
      { labels: { a: "1" } },
      { labels: { a: "2", b: "" } },
      [
        ["labels[a]", "1", "2"],
        ["labels[b]", undefined, ""],
      ],
    ],
    [{ parts: { a: "1" } }, { parts: { a: "2" } }, [["parts", { a: "1" }, { a: "2" }]]],
    [{ inner: { value: "a" } }, { inner: { value: "a", flag: false } }, [["inner.flag", undefined, false]]],
    [{}, { inner: {} }, [["inner", undefined, {}]]],
    [{}, { always: { value: "a" } }, [["always.value", undefined, "a"]]],
    [{ atom: { a: "1", b: "1" } }, { atom: { a: "1", b: "2" } }, [["atom", { a: "1", b: "1" }, { a: "1", b: "2" }]]],
    [{ raw: { a: [1] } }, { raw: { a: [2] } }, [["raw", { a: [1] }, { a: [2] }]]],
    [{ unknown: 1 }, { unknown: 2 }, [["unknown", 1, 2]]],
    [
      { ports: [{ port: 1 }, { port: 1 }] },
      { ports: [{ port: 1 }] },
      [["ports", [{ port: 1 }, { port: 1 }], [{ port: 1 }]]],
    ],
  ];
  for (const [a, b, expected] of table) assert.deepEqual(changes(a, b), expected, JSON.stringify([a, b]));
});

test("nothing differs from itself, and what differs does so both ways", () => {
  const thing = arbitraryOf(Thing);
  fc.assert(
    fc.property(thing, thing, (a: any, b: any) => {
      deepFreeze([a, b]);
      assert.ok(same(Thing, a, a));
      assert.ok(same(Thing, a, structuredClone(a)));
      assert.equal(same(Thing, a, b), same(Thing, b, a));
      const there = [...diff(Thing, a, b)].map(({ path }) => path).sort();
      const back = [...diff(Thing, b, a)].map(({ path }) => path).sort();
      assert.deepEqual(there, back);
    }),
    { numRuns: 300 },
  );
});
