import assert from "node:assert/strict";
import { test } from "node:test";
import { wrapWords } from "./word-wrap.ts";

test("lines break at words, and what is too long for a line stays whole", () => {
  for (const [text, limit, wanted] of [
    ["one two three", 7, "one two\nthree"],
    ["one  two", 20, "one  two"],
    ["a\n\nb", 5, "a\n\nb"],
    ["unbreakable word", 4, "unbreakable\nword"],
    ["end ", 4, "end "],
    ["", 4, ""],
  ] as const)
    assert.equal(wrapWords(text, limit), wanted, JSON.stringify(text));
});
