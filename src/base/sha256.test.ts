import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { sha256 } from "./sha256.ts";

const hex = (text: string | Uint8Array) => Buffer.from(sha256(text)).toString("hex");

test("sha256 equals Node's at every length around a block", () => {
  for (let length = 0; length < 200; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => i * 7 + length);
    assert.equal(hex(bytes), createHash("sha256").update(bytes).digest("hex"), `${length} bytes`);
  }
  assert.equal(hex("smörgås"), createHash("sha256").update("smörgås").digest("hex"));
});
