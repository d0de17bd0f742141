import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { sha256Hex } from "./sha256.ts";

test("sha256 equals Node's at every length around a block", () => {
  for (let length = 0; length < 200; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => i * 7 + length);
    assert.equal(sha256Hex(bytes), createHash("sha256").update(bytes).digest("hex"), `${length} bytes`);
  }
  assert.equal(sha256Hex("smörgås"), createHash("sha256").update("smörgås").digest("hex"));
});
