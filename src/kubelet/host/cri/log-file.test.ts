import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { logOptions, logText } from "../../server/logs.ts";
import { readLog } from "./log-file.ts";

const { signal } = new AbortController();
const line = (text: string, second = 0, tag = "F") =>
  `2026-01-01T00:00:${String(second).padStart(2, "0")}.25Z stdout ${tag} ${text}\n`;

function logFile(t: TestContext, text: string) {
  const folder = mkdtempSync(join(tmpdir(), "knarr-log-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "0.log");
  writeFileSync(path, text);
  return path;
}

/** What a client sees that asks with this query. */
async function* seen(path: string, query: string, isRunning: () => boolean = () => false, stop = signal) {
  const options = logOptions(new URLSearchParams(query), Date.parse("2026-01-01T00:01:00Z"));
  assert.ok(!("why" in options), query);
  const log = readLog({ path, isRunning: async () => isRunning(), clock: systemClock }, options, stop);
  for await (const part of logText(log, options)) yield Buffer.from(part).toString();
}
async function all(parts: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const part of parts) text += part;
  return text;
}

test("a log is shown as it is asked for", async (t) => {
  const path = logFile(t, line("one") + line("two ", 1, "P") + line("halves", 2) + line("three", 50));
  const table: readonly (readonly [string, string])[] = [
    ["", "one\ntwo halves\nthree\n"],
    ["tailLines=1", "three\n"],
    ["tailLines=2", "halves\nthree\n"],
    ["tailLines=100", "one\ntwo halves\nthree\n"],
    ["tailLines=0", ""],
    ["tail=all", "one\ntwo halves\nthree\n"],
    ["tail=1", "three\n"],
    ["limitBytes=6", "one\ntw"],
    ["limitBytes=4", "one\n"],
    ["sinceSeconds=20", "three\n"],
    ["sinceTime=2026-01-01T00:00:02Z", "halves\nthree\n"],
    ["sinceTime=2026-01-01T01:00:50%2B01:00", "three\n"],
    ["timestamps=true&tailLines=1", "2026-01-01T00:00:50.250000000Z three\n"],
    [
      "timestamps=1&follow=true",
      "2026-01-01T00:00:00.250000000Z one\n2026-01-01T00:00:01.250000000Z two halves\n2026-01-01T00:00:50.250000000Z three\n",
    ],
    ["timestamps=false&follow=0&tailLines=1", "three\n"],
  ];
  for (const [query, text] of table) assert.equal(await all(seen(path, query)), text, query);
});

test("a tail is found in a log that is much larger, and a log without its last newline is shown to its end", async (t) => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${"x".repeat(i % 50)}`);
  const path = logFile(t, lines.map((text) => line(text)).join(""));
  for (const count of [1, 2, 999, 5000, 19_999, 20_000, 20_001])
    assert.equal(
      await all(seen(path, `tailLines=${count}`)),
      lines
        .slice(-count)
        .map((text) => `${text}\n`)
        .join(""),
    );
  const cut = logFile(t, line("whole") + line("cut").trimEnd());
  assert.equal(await all(seen(cut, "")), "whole\ncut");
  assert.equal(await all(seen(join(cut, "..", "none.log"), "")), "");
});

const refusals: readonly (readonly [string, number])[] = [
  ["tailLines=-1", 422],
  ["limitBytes=0", 422],
  ["sinceSeconds=0", 422],
  ["sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 422],
  ["tailLines=x", 400],
  ["sinceTime=yesterday", 400],
  ["limitBytes=1e3", 400],
  ["stream=Stdout", 400],
];
for (const [query, code] of refusals)
  test(`${query} is refused with ${code}`, () => {
    const options = logOptions(new URLSearchParams(query), 0);
    assert.equal("why" in options && options.code, code);
  });

test("a log is followed across rotations to the end of its container, without losing a line", async (t) => {
  const path = logFile(t, line("old") + line("0"));
  let isRunning = true;
  const text: string[] = [];
  let next: (() => void) | undefined;
  const reading = (async () => {
    for await (const part of seen(path, "follow=true&tailLines=1", () => isRunning)) {
      text.push(part);
      next?.();
    }
  })();
  const until = async (last: string) => {
    while (!text.join("").endsWith(`${last}\n`)) await new Promise<void>((resolve) => (next = resolve));
  };
  await until("0");
  appendFileSync(path, line("1").slice(0, 20));
  appendFileSync(path, line("1").slice(20));
  await until("1");
  renameSync(path, `${path}.1`);
  appendFileSync(`${path}.1`, line("2")); // the runtime has not heard of it yet
  writeFileSync(path, line("3"));
  await until("3");
  renameSync(path, `${path}.2`);
  writeFileSync(path, "");
  appendFileSync(path, line("4"));
  await until("4");
  isRunning = false;
  appendFileSync(path, line("last"));
  await reading;
  assert.equal(text.join(""), "0\n1\n2\n3\n4\nlast\n");
});

test("a follower that leaves is not waited for", async (t) => {
  const path = logFile(t, line("one"));
  const stop = new AbortController();
  const parts = seen(path, "follow=true", () => true, stop.signal);
  assert.deepEqual(await parts.next(), { done: false, value: "one\n" });
  const rest = parts.next();
  stop.abort(new Error("gone"));
  assert.deepEqual(await rest, { done: true, value: undefined });
});
