import assert from "node:assert/strict";
import { test } from "node:test";
import { fromBase64, fromBase64Url, textToBase64, toBase64, toBase64Url } from "./base64.ts";

test("bytes of every length become what Node makes of them, and themselves again", () => {
  for (let length = 0; length < 40; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => 255 - i * 13);
    assert.equal(toBase64(bytes), Buffer.from(bytes).toString("base64"));
    assert.equal(toBase64Url(bytes), Buffer.from(bytes).toString("base64url"));
    assert.deepEqual(fromBase64(toBase64(bytes)), bytes);
    assert.deepEqual(fromBase64Url(toBase64Url(bytes)), bytes);
  }
  assert.equal(textToBase64("smörgås"), Buffer.from("smörgås").toString("base64"));
});

test("what is no base64 is told from it", () => {
  for (const text of ["A", "A===", "AA", "AA=", "AA==A", "A A=", "AA-_", "ä"])
    assert.equal(fromBase64(text), undefined);
  for (const text of ["A", "AA==", "AA+/", "AA\n", "ä"]) assert.equal(fromBase64Url(text), undefined);
  assert.deepEqual(fromBase64("AA\r\n=\n="), Uint8Array.of(0));
});
