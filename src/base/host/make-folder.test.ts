import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder } from "./make-folder.ts";

test("a folder is made with what is missing above it, and only for its owner", (t) => {
  const root = mkdtempSync(join(tmpdir(), "make-folder-"));
  t.after(() => rmSync(root, { recursive: true }));
  const path = join(root, "a", "b", "c");
  for (let times = 0; times < 2; times++) makeFolder(path);
  assert.equal(statSync(path).mode & 0o777, 0o700);
  assert.equal(statSync(join(root, "a")).mode & 0o777, 0o700);
  writeFileSync(join(root, "file"), "");
  assert.throws(() => makeFolder(join(root, "file", "in", "it")), { code: "ENOTDIR" });
});

test("where nothing can be made, that is an error", { skip: process.platform !== "linux" && "needs /proc" }, () => {
  assert.throws(() => makeFolder("/proc/knarr/data"), { code: "ENOENT", path: "/proc/knarr" });
});
