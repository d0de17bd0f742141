// Ours against a real kubectl. All lines run in the soak (or with KNARR_DIFFER=all); here every few of the blocks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findKubectls } from "../apiserver/kubectls.ts";
import { allBlocks, compareBlocks, type LineBlock, steady, words } from "./differ.ts";
import { findKubeApiServer } from "./real-server.ts";

const newest = findKubectls().at(-1);
const kubeApiServer = findKubeApiServer();
const wanted = process.env.KNARR_DIFFER ?? "";
/** About as many lines as fit into the time a suite may take. */
const sampledLines = 120;

function chosenBlocks(): readonly LineBlock[] {
  const blocks = allBlocks();
  if (wanted === "all") return blocks;
  if (wanted !== "") return blocks.filter(({ name }) => name.startsWith(wanted));
  const total = blocks.reduce((sum, { lines }) => sum + lines.length, 0);
  const every = Math.max(1, Math.ceil(total / sampledLines));
  return blocks.filter((_, i) => i % every === 0);
}

test("ours prints, asks and ends as a real kubectl does", {
  skip: newest ? false : "no kubectl was found",
}, async (t) => {
  assert.ok(newest);
  const report = await compareBlocks(newest, chosenBlocks());
  t.diagnostic(`${report.lines} lines against kubectl ${newest.version}`);
  for (const { line, what, real, ours } of report.differences)
    t.diagnostic(`${line}\n  ${what}\n--- real\n${real}\n--- ours\n${ours}`);
  assert.deepEqual(
    report.differences.map(({ line, what }) => `${line} (${what})`),
    [],
  );
  assert.deepEqual(report.stale, [], "lines that no longer differ");
});

test("ours is the same to a kube-apiserver of upstream", {
  skip: newest && kubeApiServer ? false : "no kube-apiserver with etcd was found",
}, async (t) => {
  assert.ok(newest);
  const report = await compareBlocks(newest, chosenBlocks(), kubeApiServer);
  t.diagnostic(`${report.lines} lines of kubectl ${newest.version} against ${kubeApiServer}`);
  for (const { line, what, real, ours } of report.differences)
    t.diagnostic(`${line}\n  ${what}\n--- real\n${real}\n--- ours\n${ours}`);
  // Which lines differ is told of our own server: another says less or more in some of them.
  assert.deepEqual(
    report.differences.map(({ line, what }) => `${line} (${what})`),
    [],
  );
});

test("a line is split as a shell splits it", () => {
  assert.deepEqual(words("A='b c' get po").variables, { A: "b c" });
  assert.deepEqual(words(`get po -l 'a in (b, c)' -o "x y"z`).args, ["get", "po", "-l", "a in (b, c)", "-o", "x yz"]);
});

test("only what changes from run to run is left out of the comparison", () => {
  assert.equal(steady("web   1/1   5m2s  \n", []), "web   1/1   <age>\n");
  assert.equal(steady('resourceVersion: "12"', []), 'resourceVersion: "<version>"');
  assert.equal(steady("http://127.0.0.1:99/x", ["http://127.0.0.1:99"]), "<server>/x");
  assert.equal(steady("replicas: 3", []), "replicas: 3");
  assert.equal(steady("Start Time: Wed, 18 Nov 2026 02:04:45 +0000", []), "Start Time: <time>");
  assert.equal(steady("  Resource Version:  31", []), "  Resource Version:  <version>");
});
