// What `explain` reads is kept on disk, where a real kubectl finds it and leaves it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { ServerProcess } from "../apiserver/harness.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { Recorder } from "./recorder.ts";
import { run } from "./running.ts";

test("documents of OpenAPI are kept, asked for again only as far as they may change, and shared with a real kubectl", async (t) => {
  await using server = await ServerProcess.start();
  await using recorder = await Recorder.start(server);
  const home = mkdtempSync(join(tmpdir(), "knarr-cache-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const folder = join(home, ".kube/cache/http");
  const env = { HOME: home, PATH: process.env.PATH, KUBECONFIG: "/dev/null" };
  const line = ["explain", "configmaps.data", "-s", recorder.url];
  const documents = () =>
    recorder
      .take()
      .filter(({ path }) => path.startsWith("/openapi"))
      .map(({ path, isConditional }) => `${path.replace(/\?.*/, "")}${isConditional ? " if new" : ""}`);
  const explain = async () => {
    const { code, stdout, stderr } = await run(line, { env });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const first = await explain();
  assert.match(first, /FIELD: data <map\[string\]string>/);
  assert.deepEqual(documents(), ["/openapi/v3", "/openapi/v3/api/v1"]);
  assert.equal(await explain(), first);
  assert.deepEqual(documents(), ["/openapi/v3 if new"], "the index may change, the document cannot");

  const largest = () =>
    readdirSync(folder)
      .map((name) => join(folder, name))
      .toSorted((a, b) => statSync(b).size - statSync(a).size)[0] ?? "";
  truncateSync(largest(), 1000);
  assert.equal(await explain(), first, "what is spoilt is asked for again");
  assert.deepEqual(documents(), ["/openapi/v3 if new", "/openapi/v3/api/v1"]);

  const newest = findKubectls().at(-1);
  if (newest) {
    const { stdout } = await promisify(execFile)(newest.path, line, { env });
    assert.equal(stdout, first);
    assert.deepEqual(documents(), ["/openapi/v3 if new"], "a real one takes what ours has left");
    rmSync(folder, { recursive: true });
    await promisify(execFile)(newest.path, line, { env });
    recorder.take();
    assert.equal(await explain(), first);
    assert.deepEqual(documents(), ["/openapi/v3 if new"], "and ours what a real one has left");
  }
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "");
  assert.equal(await explain(), first, "without a folder it is only slower");
  assert.equal(readFileSync(folder, "utf8"), "");
});
