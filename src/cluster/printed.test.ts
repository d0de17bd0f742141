import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Explanation } from "#observe/why.ts";
import { answerText, coloured, plain } from "#observe/why-text.ts";

/** Clears the screen, sets a title, hides text, answers questions, overwrites the line, and turns it around. */
const attack = "\u001b]0;pwned\u0007\u001b[2J\u001b[8m\u009b31m\u001bP+q\u001b\\\rok\b\u007f\u202egnp.exe\u0000";
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const anyControl = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

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
  } as unknown as Explanation;
  const now = Date.parse("2026-01-01T00:01:00Z");
  assert.doesNotMatch(answerText(answer, now, plain).join("\n"), anyControl);
  const painted = answerText(answer, now, coloured).join("\n");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours
  assert.doesNotMatch(painted.replaceAll(/\u001b\[(0|1|2|31|32|33)m/g, ""), anyControl);
});

test("commands write by the functions that make text printable, and by no others", () => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  /** The functions themselves, and a file of ours that is printed as it is. */
  const exceptions = ["cli/print.ts", "cluster/commands/kubeconfig.ts"];
  const writers = globSync("{cli,cluster,observe}/**/*.ts", { cwd: root })
    .filter((file) => !file.endsWith(".test.ts") && !exceptions.includes(file))
    .filter((file) => /console\.\w+\(|process\.std(out|err)\.write\(/.test(readFileSync(`${root}/${file}`, "utf8")));
  assert.deepEqual(writers, []);
});
