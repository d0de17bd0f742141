import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import type { Change } from "../engine.ts";
import { MemoryStore } from "../memory.ts";
import { follow } from "../testing.ts";
import { Recorder, runClient, watchViolation } from "./history.ts";
import type { HistoryOperation } from "./linearizability.ts";

async function watched() {
  const engine = new MemoryStore({ clock: new ManualClock() });
  const watcher = follow(engine, "/", 1);
  const recorder = new Recorder();
  let left = 300;
  const keys = ["/a", "/b", "/c"];
  await Promise.all(
    [1, 2, 3].map((i) =>
      runClient(recorder, { engine, name: `c${i}`, keys, random: seededRandom(i) }, () => left-- > 0),
    ),
  );
  await watcher.caughtUpTo(await engine.revision());
  await watcher.stop();
  await engine.close();
  return { operations: recorder.operations, changes: watcher.changes };
}

test("a watcher that saw everything once is believed, and every way to miss or repeat is found", async () => {
  const { operations, changes } = await watched();
  assert.equal(watchViolation(operations, changes), undefined);
  assert.ok(changes.length > 50);
  for (let i = 0; i < changes.length; i++) {
    const change = changes[i]!;
    const { entry } = change;
    const wrongs: Record<string, readonly Change[]> = {
      missing: changes.toSpliced(i, 1),
      twice: changes.toSpliced(i, 0, change),
      "out of order": i === 0 ? [] : changes.toSpliced(i - 1, 2, change, changes[i - 1]!),
      "another value": changes.with(i, { ...change, entry: { ...entry, value: new TextEncoder().encode("ghost") } }),
      "another key": changes.with(i, { ...change, entry: { ...entry, key: "/ghost" } }),
      "the other type": changes.with(i, { ...change, type: change.type === "put" ? "delete" : "put" }),
    };
    for (const [name, wrong] of Object.entries(wrongs))
      assert.ok(watchViolation(operations, wrong), `change ${i} ${name}`);
  }
});

test("a write of unknown outcome may be seen or not", () => {
  const entry = { key: "/a", value: new TextEncoder().encode("x"), created: 2, modified: 2 };
  const put: Change = { type: "put", entry };
  const gone: Change = { type: "delete", entry: { ...entry, value: new Uint8Array(), modified: 3 }, previous: entry };
  const unknown = { key: "/a", called: 1, returned: 2, outcome: { is: "unknown" } } as const;
  const operations: HistoryOperation[] = [
    { ...unknown, kind: "put", value: "x", expected: 0 },
    { ...unknown, kind: "delete", expected: 2 },
  ];
  for (const changes of [[], [put], [put, gone]]) assert.equal(watchViolation(operations, changes), undefined);
  assert.ok(watchViolation(operations.slice(0, 1), [put, gone]), "nobody asked for the delete");
  assert.ok(watchViolation(operations, [put, { ...put, entry: { ...entry, modified: 4 } }]), "applied twice");
});
