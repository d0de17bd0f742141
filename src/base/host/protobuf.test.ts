import assert from "node:assert/strict";
import { test } from "node:test";
import { ints, message, pairs, signed } from "./protobuf.ts";

test("numbers may be negative, and texts may be kept by text", () => {
  const Sample = message("Sample", { code: signed(1), labels: pairs(2) });
  for (const code of [0, 1, -1, 137, -998, 2 ** 53 - 1, -(2 ** 53 - 1)])
    assert.equal(Sample.decode(Sample.encode({ code })).code, code);
  const labels = Object.fromEntries([
    ["a", "1"],
    ["constructor", "2"],
    ["", ""],
  ]);
  assert.deepEqual({ ...Sample.decode(Sample.encode({ labels })).labels }, labels);
  assert.throws(() => Sample.encode({ code: 1.5 }), RangeError);
  assert.throws(() => Sample.decode(Uint8Array.of(8, 255, 255, 255, 255, 255, 255, 255, 127)), /decode Sample/);
});

test("counts are written one behind the other", () => {
  const Sample = message("Sample", { groups: ints(5) });
  assert.deepEqual([...Sample.encode({ groups: [1, 300] })], [42, 3, 1, 172, 2]);
  for (const groups of [[], [0], [2000, 3000, 2 ** 31 - 1]])
    assert.deepEqual(Sample.decode(Sample.encode({ groups })).groups, groups);
});
