import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DerError, der, derElement, derElements } from "./der.ts";

test("what is written is read again", () => {
  const content = fc.uint8Array({ maxLength: 70_000 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 255 }), content, (tag, bytes) => {
      const whole = der(tag, bytes);
      assert.deepEqual(derElement(whole), { tag, content: bytes, whole });
    }),
  );
});

test("lengths are written in as few bytes as they need", () => {
  const heads = [0, 127, 128, 255, 256, 65_535, 65_536].map((length) => {
    const bytes = der(4, new Uint8Array(length));
    return Buffer.from(bytes.subarray(1, bytes.length - length)).toString("hex");
  });
  assert.deepEqual(heads, ["00", "7f", "8180", "81ff", "820100", "82ffff", "83010000"]);
});

test("bytes that are no elements are refused, whatever they are", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        assert.deepEqual(
          Buffer.concat(derElements(bytes).map(({ tag, content }) => der(tag, content))).length > 0,
          bytes.length > 0,
        );
      } catch (error) {
        assert.ok(error instanceof DerError);
      }
    }),
  );
});
