import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { printable, printableDeep } from "#base/printable.ts";
import { print, printError, printJson } from "./print.ts";

/** Clears the screen, sets a title, hides text, answers questions, overwrites the line, and turns it around. */
const attack = "\u001b]0;pwned\u0007\u001b[2J\u001b[8m\u009b31m\u001bP+q\u001b\\\rok\b\u007f\u202egnp.exe\u0000";
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const anyControl = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

test("every control character becomes visible, and text stays", () => {
  assert.doesNotMatch(printable(attack), anyControl);
  assert.match(printable(attack), /^\\u001b\]0;pwned\\u0007/);
  for (const text of ["two\nlines\tand a tab", "Grüße, 日本語, 👩‍🚀", ""]) assert.equal(printable(text), text);
  const value = { [attack]: [attack, 1, null, { a: attack }] };
  assert.doesNotMatch(JSON.stringify(printableDeep(value)).replaceAll("\\\\", ""), anyControl);
});

test("JSON with control characters in it stays the same JSON", (t: TestContext) => {
  const value = { message: attack };
  const printed = capture(t, () => printJson(value));
  assert.doesNotMatch(printed, anyControl);
  assert.deepEqual(JSON.parse(printed), value);
});

test("whatever is printed has no control characters", (t: TestContext) => {
  for (const one of [print, printError])
    assert.doesNotMatch(
      capture(t, () => one(attack)),
      anyControl,
    );
});

function capture(t: TestContext, run: () => void): string {
  const lines: string[] = [];
  for (const name of ["log", "error"] as const) t.mock.method(console, name, (text: string) => lines.push(text));
  run();
  t.mock.restoreAll();
  return lines.join("\n");
}
