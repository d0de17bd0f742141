import assert from "node:assert/strict";
import { test } from "node:test";
import { envFileValue } from "./env-file.ts";

const file = `# what the init container found out
  COLOUR='blue' # of the sky

EMPTY=''
LITERAL='a=$b $(c) # "d"'
LONG='first
  second

last'
APART= 'no'
AFTER='yes'`;

test("a variable of a file is found as a shell would read it", () => {
  const table = {
    COLOUR: "blue",
    EMPTY: "",
    LITERAL: 'a=$b $(c) # "d"',
    LONG: "first\n  second\n\nlast",
    APART: "",
    AFTER: "yes",
    NONE: "",
  };
  for (const [name, value] of Object.entries(table)) assert.equal(envFileValue(file, name), value, name);
});

test("a line that cannot be read is named", () => {
  const table: readonly (readonly [string, string])[] = [
    ["A", "at line 1: missing '='"],
    ["\n='a'", "at line 2: empty variable name"],
    ["A ='a'", "at line 1: whitespace before '=' is not allowed"],
    ["A=a", "at line 1: value must be enclosed in single quotes"],
    ['A="a"', "at line 1: value must be enclosed in single quotes"],
    ["A='a' b", "at line 1: unexpected content after closing quote"],
    ["A='a\nb'c", "at line 2: unexpected content after closing quote"],
    ["B='b'\nA='a\n", "starting at line 2: unclosed single quote"],
  ];
  for (const [text, expected] of table)
    assert.throws(() => envFileValue(text, "X"), { message: `invalid environment variable format ${expected}` });
  assert.equal(envFileValue("A='a'\nbroken", "A"), "a", "what comes after is not looked at");
});
