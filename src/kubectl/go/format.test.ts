import assert from "node:assert/strict";
import { test } from "node:test";
import { sprint, sprintf } from "./format.ts";
import { goJson } from "./json.ts";
import { goQuote, goUnquote } from "./quote.ts";
import { bytesOf, goFloat, textOf } from "./value.ts";

test("numbers of an object are int64 or float64, and constants int or float64", () => {
  assert.equal(sprintf("%T %T %T %T", [3, 1.5, 3n, goFloat(3)]), "int64 float64 int float64");
  assert.equal(sprint([2 ** 53, 1e21, goFloat(1e6)]), "9007199254740992 1e+21 1e+06");
});

test("bytes that are no text survive as text", () => {
  const bytes = Uint8Array.of(0xff, 0x00, 0x41, 0xc3, 0xa9, 0xed, 0xa0, 0x80);
  assert.deepEqual(bytesOf(textOf(bytes)), bytes);
  assert.equal(goQuote(textOf(Uint8Array.of(0xff, 0x41))), '"\\xffA"');
});

test("quoting is undone by unquoting", () => {
  for (const text of ["", 'a"b\\c', "tab\tline\n", "é 日本 \u{1f600}", "\u2028\x7f"])
    assert.equal(goUnquote(goQuote(text)), text);
  assert.equal(goUnquote('"\\xff"'), textOf(Uint8Array.of(0xff)));
  assert.equal(goUnquote('"bad \\q"'), undefined);
});

test("JSON is Go's: sorted by bytes, and safe inside of a page", () => {
  assert.equal(
    goJson({ b: "<&>", a: [1, {}], ﬁ: 1, "\u{1f600}": 2n }),
    '{"a":[1,{}],"b":"\\u003c\\u0026\\u003e","ﬁ":1,"😀":2}',
  );
  assert.equal(goJson({ a: [], b: { c: null } }, "    "), '{\n    "a": [],\n    "b": {\n        "c": null\n    }\n}');
});
