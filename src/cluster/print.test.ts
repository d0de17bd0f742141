import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { printable, printableDeep } from "#base/printable.ts";
import type { Answer } from "#observe/why.ts";
import { answerText, coloured, plain } from "#observe/why-text.ts";
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

test("an answer to why has no control characters but its own colours, whoever wrote what is in it", () => {
  const reason = {
    code: attack,
    state: "wrong",
    says: attack,
    since: "2026-01-01T00:00:00Z",
    evidence: [{ from: attack, says: `${attack}\n${attack}`, at: "2026-01-01T00:00:00Z", count: 2 }],
    remedies: [attack],
  } as const;
  const write = {
    revision: 1,
    at: 0,
    verb: attack,
    resource: attack,
    namespace: attack,
    name: attack,
    user: attack,
    userAgent: attack,
    because: [],
  };
  const event = { type: attack, reason: attack, message: `other ${attack}`, involvedObject: {}, metadata: {} };
  const answer = {
    subject: { kind: attack, namespace: attack, name: attack },
    reason: { ...reason, parts: [{ names: [attack, attack], of: 2, reason }] },
    chain: [write],
    events: [event],
  } as unknown as Answer;
  const now = Date.parse("2026-01-01T00:01:00Z");
  assert.doesNotMatch(answerText(answer, now, plain).join("\n"), anyControl);
  const painted = answerText(answer, now, coloured).join("\n");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours
  assert.doesNotMatch(painted.replaceAll(/\u001b\[(0|1|2|31|32|33)m/g, ""), anyControl);
});

test("commands write by the functions that make text printable, and by no others", () => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  /** The functions themselves, and a file of ours that is printed as it is. */
  const exceptions = ["cluster/print.ts", "cluster/commands/kubeconfig.ts"];
  const writers = globSync("{cluster,observe}/**/*.ts", { cwd: root })
    .filter((file) => !file.endsWith(".test.ts") && !exceptions.includes(file))
    .filter((file) => /console\.\w+\(|process\.std(out|err)\.write\(/.test(readFileSync(`${root}/${file}`, "utf8")));
  assert.deepEqual(writers, []);
});
