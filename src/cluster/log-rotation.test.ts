import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { parseJson } from "#schema/json.ts";
import { openLog } from "./local/log-lines.ts";
import { copyOf, keptCopies, rotateIfLong } from "./log-rotation.ts";

function folder(): Disposable & { readonly log: string } {
  const path = mkdtempSync(join(tmpdir(), "knarr-log-"));
  return { log: join(path, "knarr.log"), [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

const limit = 1000;
const entry = (n: number) => JSON.stringify({ time: `2026-01-01T00:00:00.${String(n).padStart(3, "0")}Z`, n });
const numbers = (lines: readonly string[]) => lines.map((line) => (parseJson(line).value as { readonly n: number }).n);
const upTo = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** A process whose standard error is that log, and which writes so many lines to it. */
function write(log: string, from: number, to: number, before = ""): void {
  const script = `
    import { logWriter } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "log-rotation.ts")).href)};
    import { appendFileSync, rmSync } from "node:fs";
    const log = ${JSON.stringify(log)};
    const write = logWriter(log, ${limit});
    ${before}
    for (let n = ${from}; n < ${to}; n++)
      write(JSON.stringify({ time: "2026-01-01T00:00:00." + String(n).padStart(3, "0") + "Z", n }));
    process.emitWarning("last words");
  `;
  const stdio = ["ignore", "ignore", openSync(log, "a")] as const;
  const { status } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { stdio: [...stdio] });
  assert.equal(status, 0);
}

const readAll = (log: string) => {
  const reader = openLog(log);
  const now = reader.read();
  return [...reader.past()].reverse().flat().concat(now);
};

test("a log stays short, and its copies are few", () => {
  using place = folder();
  write(place.log, 0, 900);
  const sizes = upTo(1, keptCopies + 1).map((age) => statSync(copyOf(place.log, age)).size);
  for (const size of sizes) assert.ok(size >= limit && size < limit + 100, `${size} bytes`);
  assert.ok(!existsSync(copyOf(place.log, keptCopies + 1)));
  const lines = readAll(place.log).filter((line) => line.startsWith("{"));
  assert.deepEqual(numbers(lines), upTo(900 - lines.length, 900), "none is missing, none is there twice");
  assert.match(readFileSync(place.log, "utf8"), /last words/, "what Node says goes to the log, too");
});

test("a log that was removed is emptied without a copy", () => {
  using place = folder();
  write(place.log, 0, 100, "rmSync(log);");
  assert.ok(!existsSync(place.log) && !existsSync(copyOf(place.log, 1)));
});

test("whoever reads a log reads on across rotations, however many there were", () => {
  for (const step of [1, 7, 40]) {
    using place = folder();
    const seen: string[] = [];
    writeFileSync(place.log, "");
    const reader = openLog(place.log);
    for (let n = 0; n < 200; n++) {
      appendFileSync(place.log, `${entry(n)}\n`);
      rotateIfLong(place.log, 500);
      if (n % step === step - 1) seen.push(...reader.read());
    }
    seen.push(...reader.read());
    assert.deepEqual(numbers(seen), upTo(0, 200), `read after every ${step} lines`);
  }
});

test("what was copied since the log was read is not taken for its past", () => {
  using place = folder();
  writeFileSync(copyOf(place.log, 1), `${entry(0)}\n`);
  writeFileSync(place.log, `${entry(1)}\n`);
  const reader = openLog(place.log);
  assert.deepEqual(numbers(reader.read()), [1]);
  appendFileSync(place.log, `${entry(2)}\n`);
  rotateIfLong(place.log, 1);
  assert.deepEqual(numbers([...reader.past()].flat()), [0]);
  assert.deepEqual(numbers(reader.read()), [2]);
});

test("a line is shown when it is whole", () => {
  using place = folder();
  writeFileSync(place.log, "one\ntw");
  const reader = openLog(place.log);
  assert.deepEqual(reader.read(), ["one"]);
  appendFileSync(place.log, "o\n");
  assert.deepEqual(reader.read(), ["two"]);
});
