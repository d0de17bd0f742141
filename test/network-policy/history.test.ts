// Histories of policies, pods and namespaces against the kernel: after each step its table is the one that is made from nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#base/random.ts";
import { impossible } from "./kernel.ts";
import { followHistory } from "./kernel-history.ts";

test("after each step of a history the kernel's rules are those that its objects give", {
  skip: impossible,
}, async () => {
  const compared = await followHistory(seededRandom(1), 25);
  assert.ok(compared.rules > 20 && compared.elements > 50, "there was something to compare");
});
