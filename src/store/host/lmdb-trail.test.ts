import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogRecord } from "./lmdb-records.ts";
import { Trail } from "./lmdb-trail.ts";

const record = (revision: number, previous: number, type: LogRecord["type"] = "put"): LogRecord => ({
  type,
  key: "/a",
  revision,
  created: 2,
  previous,
  expiry: undefined,
  value: new Uint8Array(),
});

test("a trail tells what changes have made unreachable, also over gaps and after it has forgotten", () => {
  const trail = new Trail(10);
  trail.append(record(11, 0));
  trail.append(record(13, 11)); // 12 failed
  trail.append(record(14, 13, "delete"));
  assert.deepEqual(trail.unreachable(10, 13), [11]);
  assert.deepEqual(trail.unreachable(13, 99), [13, 14]);
  for (let revision = 15; revision <= 20_000; revision++) trail.append(record(revision, revision - 1));
  trail.forget(9_000);
  assert.ok(trail.start > 10 && trail.start <= 9_000, `${trail.start}`);
  assert.deepEqual(trail.unreachable(9_000, 9_003), [9_000, 9_001, 9_002]);
  assert.deepEqual(trail.unreachable(19_998, 20_000), [19_998, 19_999]);
});
