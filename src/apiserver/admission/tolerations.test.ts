import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Toleration } from "#api/core/v1/affinity.ts";
import { equal } from "#base/collections.ts";
import { covers, mergeTolerations } from "./tolerations.ts";

/** The same by comparing each with each, as upstream does. */
function compared(first: readonly Toleration[], second: readonly Toleration[]): Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  for (const [i, one] of all.entries()) {
    if (merged.some((other) => covers(other, one))) continue;
    if (all.slice(i + 1).some((later) => !equal(later, one) && covers(later, one))) continue;
    merged.push(one);
  }
  return merged;
}

const tolerations = fc.array(
  fc.record(
    {
      key: fc.constantFrom("", "a", "b"),
      operator: fc.constantFrom("Exists", "Equal", "Gt"),
      value: fc.constantFrom("", "x", "y"),
      effect: fc.constantFrom("", "NoSchedule", "NoExecute"),
      tolerationSeconds: fc.constantFrom(0, 5, 60),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<object> as fc.Arbitrary<Toleration>,
  { maxLength: 8 },
);

test("looking tolerations up gives what comparing each with each gives", () => {
  fc.assert(
    fc.property(tolerations, tolerations, (first, second) => {
      assert.deepEqual(mergeTolerations(first, second), compared(first, second));
    }),
    { numRuns: 3000 },
  );
});

test("twenty thousand tolerations are merged, which comparing each with each would not end with", () => {
  const many = Array.from({ length: 20_000 }, (_, i): Toleration => ({ key: `key-${i}`, operator: "Exists" }));
  assert.equal(mergeTolerations(many, many).length, many.length);
  assert.deepEqual(mergeTolerations(many, [{ operator: "Exists" }]), [{ operator: "Exists" }]);
});
