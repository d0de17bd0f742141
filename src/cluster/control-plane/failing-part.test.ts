import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { failingPart } from "./failing-part.ts";

test("a part that ended three times since is told with what it said, and tries of before do not count", () => {
  const logs = mkdtempSync(join(tmpdir(), "knarr-logs-"));
  try {
    const folder = join(logs, "kube-system_kube-apiserver-node-1_abc", "kube-apiserver");
    mkdirSync(folder, { recursive: true });
    const write = (number: number) =>
      writeFileSync(join(folder, `${number}.log`), `2026-01-01T00:00:00Z stderr F kube-apiserver: try ${number}\n`);
    write(7);
    const problem = failingPart(logs);
    assert.equal(problem(), undefined);
    write(8);
    write(9);
    assert.equal(problem(), undefined);
    write(10);
    assert.equal(problem(), "kube-apiserver ends again and again; it said: kube-apiserver: try 9");
  } finally {
    rmSync(logs, { recursive: true, force: true });
  }
});
