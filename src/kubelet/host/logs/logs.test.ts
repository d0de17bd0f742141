import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { containerOf, podOf, stateOf } from "../../testing.ts";
import { PodLogs } from "./pod-logs.ts";

const { signal } = new AbortController();

function atFolder() {
  const folder = mkdtempSync(join(tmpdir(), "knarr-logs-"));
  const logs = join(folder, "logs/default_web_u1/web");
  mkdirSync(logs, { recursive: true });
  mkdirSync(join(folder, "links"));
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const state = { reopen: async () => writeFileSync(join(logs, "3.log"), "") };
  const made = new PodLogs({
    logsDirectory: join(folder, "logs"),
    linksDirectory: join(folder, "links"),
    list: () => [{ pod: podOf(), state: stateOf([containerOf("web", { attempt: 3 })]) }],
    runtime: { reopenLog: () => state.reopen() },
    clock,
    log: silentLog,
    maxBytes: 100,
  });
  const write = (text: string) => writeFileSync(join(logs, "3.log"), text.padEnd(101, "."));
  return { folder, logs, clock, state, made, write, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

test("a log that is too large is moved away, older parts are compressed, and the oldest removed", async () => {
  using s = atFolder();
  for (let round = 0; round < 7; round++) {
    s.write(`round ${round}`);
    await s.made.check(signal);
    await s.made.check(signal); // what is small again stays
    await s.clock.advance(10_000);
  }
  const names = readdirSync(s.logs).sort();
  assert.deepEqual(names, [
    "3.log",
    "3.log.20260101-000030.gz",
    "3.log.20260101-000040.gz",
    "3.log.20260101-000050.gz",
    "3.log.20260101-000100",
  ]);
  assert.match(gunzipSync(readFileSync(join(s.logs, names[1] ?? ""))).toString(), /^round 3\./);
  assert.match(readFileSync(join(s.logs, names[4] ?? ""), "utf8"), /^round 6\./);
});

test("a log stays where it is when the runtime does not begin another", async () => {
  using s = atFolder();
  s.state.reopen = () => Promise.reject(new Error("no answer"));
  s.write("first");
  writeFileSync(join(s.logs, "3.log.20250101-000000.gz.tmp"), "half");
  await s.made.check(signal);
  assert.deepEqual(readdirSync(s.logs), ["3.log"]);
});

test("logs go with their pod, and so do the links to them", async () => {
  using s = atFolder();
  s.write("x");
  const link = join(s.folder, "links/web_default_web-abc.log");
  symlinkSync(join(s.logs, "3.log"), link);
  assert.deepEqual(await s.made.pods(), ["u1"]);
  await s.made.remove("u2");
  assert.ok(existsSync(link));
  await s.made.remove("u1");
  assert.deepEqual([readdirSync(join(s.folder, "logs")), readdirSync(join(s.folder, "links"))], [[], []]);
});
