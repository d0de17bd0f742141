import assert from "node:assert/strict";
import { describe as group, test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import type { Revision } from "../engine.ts";
import { MemoryStore } from "../memory.ts";
import { Recorder, runClient } from "./history.ts";
import { describe, type HistoryOperation, type HistoryOutcome, violationIn } from "./linearizability.ts";

type Span = readonly [called: number, returned: number];
const key = "/a";
const written = (revision: Revision, created?: Revision): HistoryOutcome => ({
  is: "written",
  revision,
  ...(created && { created }),
});
const seen = (value: string, modified: Revision, created = modified) => ({ value, created, modified });
const unknown: HistoryOutcome = { is: "unknown" };

const put = (
  value: string,
  expected: Revision,
  [called, returned]: Span,
  outcome: HistoryOutcome,
): HistoryOperation => ({
  ...{ kind: "put", key, value, expected, called, returned, outcome },
});
const del = (expected: Revision, [called, returned]: Span, outcome: HistoryOutcome): HistoryOperation => ({
  ...{ kind: "delete", key, expected, called, returned, outcome },
});
const get = (present: ReturnType<typeof seen> | undefined, [called, returned]: Span): HistoryOperation => ({
  ...{ kind: "get", key, called, returned, outcome: { is: "found", present } },
});
const conflict = (present: ReturnType<typeof seen> | undefined): HistoryOutcome => ({ is: "conflict", present });

group("possible histories are accepted:", () => {
  const histories: Readonly<Record<string, readonly HistoryOperation[]>> = {
    "nothing at all": [],
    "one after the other": [
      get(undefined, [1, 2]),
      put("x", 0, [3, 4], written(2)),
      get(seen("x", 2), [5, 6]),
      put("y", 2, [7, 8], written(3, 2)),
      get(seen("y", 3, 2), [9, 10]),
      del(3, [11, 12], written(4)),
      get(undefined, [13, 14]),
    ],
    "a read during a write may see the old or the new": [
      put("x", 0, [1, 2], written(2)),
      put("y", 2, [3, 10], written(3)),
      get(seen("x", 2), [4, 5]),
      get(seen("y", 3, 2), [6, 7]),
    ],
    "two writers expect absence, one is refused with the other's value": [
      put("x", 0, [1, 4], written(2)),
      put("y", 0, [2, 3], conflict(seen("x", 2))),
    ],
    "a delete of what is absent conflicts with nothing": [
      del(0, [1, 2], conflict(undefined)),
      del(7, [3, 4], conflict(undefined)),
    ],
    "a write of unknown outcome never happened": [
      put("x", 0, [1, 2], written(2)),
      put("y", 2, [3, 4], unknown),
      get(seen("x", 2), [5, 6]),
      put("z", 2, [7, 8], written(3)),
    ],
    "a write of unknown outcome happened late": [
      put("x", 0, [1, 2], written(2)),
      put("y", 2, [3, 4], unknown),
      get(seen("x", 2), [5, 6]),
      get(seen("y", 3, 2), [7, 8]),
    ],
    "a delete of unknown outcome happened late": [
      put("x", 0, [1, 2], written(2)),
      del(2, [3, 4], unknown),
      get(seen("x", 2), [5, 6]),
      get(undefined, [7, 8]),
      put("y", 0, [9, 10], written(5)),
    ],
    "a delete of unknown outcome never happened": [
      put("x", 0, [1, 2], written(2)),
      del(2, [3, 4], unknown),
      put("y", 2, [5, 6], written(3)),
      get(seen("y", 3, 2), [7, 8]),
    ],
    "concurrent writes get their revisions in any order": [
      { ...put("x", 0, [1, 10], written(5)), key: "/b" },
      put("x", 0, [2, 3], written(7)),
      { ...put("x", 0, [2, 9], written(3)), key: "/c" },
    ],
  };
  for (const [name, history] of Object.entries(histories))
    test(name, () => assert.equal(violationIn(history), undefined));
});

group("impossible histories are rejected:", () => {
  const histories: Readonly<Record<string, [RegExp, readonly HistoryOperation[]]>> = {
    "a stale read": [
      /no order/,
      [put("x", 0, [1, 2], written(2)), put("y", 2, [3, 4], written(3)), get(seen("x", 2), [5, 6])],
    ],
    "a read that goes back behind an earlier read": [
      /no order/,
      [
        put("x", 0, [1, 2], written(2)),
        put("y", 2, [3, 10], written(3)),
        get(seen("y", 3, 2), [4, 5]),
        get(seen("x", 2), [6, 7]),
      ],
    ],
    "an acknowledged write that is gone": [/no order/, [put("x", 0, [1, 2], written(2)), get(undefined, [3, 4])]],
    "a lost update: two writers succeed on the same revision": [
      /no order/,
      [put("x", 0, [1, 2], written(2)), put("y", 2, [3, 6], written(3)), put("z", 2, [4, 5], written(4))],
    ],
    "a resurrected delete": [
      /no order/,
      [put("x", 0, [1, 2], written(2)), del(2, [3, 4], written(3)), get(seen("x", 2), [5, 6])],
    ],
    "a delete of what was already deleted": [
      /no order/,
      [put("x", 0, [1, 2], written(2)), del(2, [3, 6], written(3)), del(2, [4, 5], written(4))],
    ],
    "a revision given twice": [
      /has the revision of/,
      [put("x", 0, [1, 4], written(2)), { ...put("y", 0, [2, 3], written(2)), key: "/b" }],
    ],
    "a revision given twice to one key": [
      /no order/,
      [put("x", 0, [1, 2], written(2)), put("y", 2, [3, 4], written(2))],
    ],
    "a value that was never written": [
      /never written/,
      [put("x", 0, [1, 2], written(2)), get(seen("ghost", 3), [3, 4])],
    ],
    "a value that was refused": [
      /refused/,
      [put("x", 0, [1, 2], written(2)), put("y", 0, [3, 4], conflict(seen("x", 2))), get(seen("y", 3), [5, 6])],
    ],
    "a value before it was written": [/no order/, [get(seen("x", 2), [1, 2]), put("x", 0, [3, 4], written(2))]],
    "a value of unknown outcome before it was sent": [
      /no order/,
      [get(seen("x", 2), [1, 2]), put("x", 0, [3, 4], unknown)],
    ],
    "one value at two revisions": [
      /has revision 2, not 3/,
      [put("x", 0, [1, 2], written(2)), get(seen("x", 3), [3, 4])],
    ],
    "one value of unknown outcome at two revisions, so that it was applied twice": [
      /has revision 2, not 4/,
      [put("x", 0, [1, 2], unknown), get(seen("x", 2), [3, 4]), del(2, [5, 6], written(3)), get(seen("x", 4), [7, 8])],
    ],
    "a conflict with what the writer expected": [
      /no order/,
      [put("x", 0, [1, 2], written(2)), put("y", 2, [3, 4], conflict(seen("x", 2)))],
    ],
    "a conflict that saw a stale entry": [
      /no order/,
      [put("x", 0, [1, 2], written(2)), put("y", 2, [3, 4], written(3)), put("z", 1, [5, 6], conflict(seen("x", 2)))],
    ],
    "an update that changes when the entry was created": [
      /no order/,
      [put("x", 0, [1, 2], written(2)), put("y", 2, [3, 4], written(3, 3))],
    ],
    "a read of an entry created at another revision": [
      /no order/,
      [put("x", 0, [1, 2], written(2)), put("y", 2, [3, 4], written(3)), get(seen("y", 3, 3), [5, 6])],
    ],
    "revisions that go back for one key": [/no order/, [put("x", 0, [1, 2], written(5)), del(5, [3, 4], written(4))]],
    "revisions against real time across keys": [
      /began after/,
      [put("x", 0, [1, 2], written(5)), { ...put("x", 0, [3, 4], written(4)), key: "/b" }],
    ],
    "a delete of unknown outcome that took effect before it was called": [
      /no order/,
      [put("x", 0, [1, 2], written(2)), get(undefined, [3, 4]), del(2, [5, 6], unknown)],
    ],
  };
  for (const [name, [reason, history]] of Object.entries(histories))
    test(name, () => assert.match(violationIn(history) ?? "accepted", reason));
});

const clients = async (seed: number) => {
  const engine = new MemoryStore({ clock: new ManualClock() });
  const recorder = new Recorder();
  let left = 400;
  await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      runClient(
        recorder,
        { engine, name: `c${i}`, keys: ["/a", "/b", "/c"], random: seededRandom(seed * 100 + i) },
        () => left-- > 0,
      ),
    ),
  );
  await engine.close();
  return recorder.operations;
};

test("random histories of the memory engine are accepted", async () => {
  for (let seed = 0; seed < 20; seed++) assert.equal(violationIn(await clients(seed)), undefined);
});

test("random histories are rejected after any one read of them is made stale", async () => {
  let planted = 0;
  for (let seed = 0; seed < 20; seed++) {
    const history = await clients(seed);
    const reads = history.flatMap((operation, index) =>
      operation.outcome.is === "found" && operation.outcome.present ? [{ operation, index }] : [],
    );
    for (const { operation, index } of reads.filter((_, i) => i % 10 === 0)) {
      const older = history.find(
        (other) =>
          other.key === operation.key &&
          other.outcome.is === "found" &&
          other.outcome.present &&
          // A whole write must lie between the two, or the older answer might be right too.
          history.some(
            (write) =>
              write.key === operation.key &&
              write.outcome.is === "written" &&
              write.called > other.returned &&
              write.returned < operation.called,
          ),
      );
      if (!older) continue;
      planted++;
      const tampered = history.with(index, { ...operation, outcome: older.outcome });
      assert.ok(violationIn(tampered), `${describe(operation)} as ${describe(older)}`);
    }
  }
  assert.ok(planted > 50, `${planted} planted`);
});

test("a history in which two puts write the same value cannot be judged", () => {
  assert.throws(
    () => violationIn([put("x", 0, [1, 2], written(2)), put("x", 2, [3, 4], written(3))]),
    /values must differ/,
  );
});
