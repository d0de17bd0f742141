import assert from "node:assert/strict";
import { test } from "node:test";
import { type Soon, soon } from "./soon.ts";

const twice = (value: Soon<number>): Soon<number> => soon(value, (n) => n * 2);

test("what is here is gone on with at once", () => {
  assert.equal(twice(2), 4);
  assert.throws(() =>
    soon(2, () => {
      throw new Error("no");
    }),
  );
});

test("what comes is gone on with when it has come", async () => {
  assert.equal(await twice(Promise.resolve(2)), 4);
  await assert.rejects(async () => twice(Promise.reject(new Error("no"))), /no/);
});
