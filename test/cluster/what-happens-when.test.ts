// docs/what-happens-when.md tells of a real trace: its commands are run again, and the trace must have the same shape.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { kubectls } from "../apiserver/replay.ts";
import { typedAgain } from "../apiserver/transcript.ts";
import { Machine } from "./machine.ts";

const file = fileURLToPath(new URL("../../docs/what-happens-when.md", import.meta.url));
const page = readFileSync(file, "utf8");
const newest = kubectls.at(-1);

test("what-happens-when.md refers to files that exist", () => {
  const links = [...page.matchAll(/\]\(([^)#]+)/g)].map(([, path = ""]) => path);
  assert.ok(links.length > 30);
  assert.deepEqual(
    links.filter((path) => !existsSync(join(dirname(file), path))),
    [],
  );
});

const block = /(?<=^```text\n)[^`]*(?=^```$)/m;

test("what-happens-when.md tells of a trace as it happens", {
  skip: newest ? false : "no kubectl was found",
}, async () => {
  await using machine = new Machine(newest?.path);
  await machine.ok("up", "--runtime=simulated", "--nodes=3", "--port=0");
  const told = /^```console\n([^`]*)^```$/m.exec(page)?.[1] ?? "";
  const commands = told.split("\n").flatMap((line) => (line.startsWith("$ kubectl ") ? [line.slice(10)] : []));
  assert.equal(commands.length, 2);
  for (const command of commands) {
    await machine.kubectl(...command.split(" "));
    // A slow cluster would make the service's endpoints only when the pod is ready already, and then not have to update them.
    await typedAgain(
      () => machine.kubectl("get", "endpointslices,endpoints", "--selector=app=web", "--output=name"),
      (names) => names.includes("endpointslice") && names.includes("endpoints/web"),
    );
  }
  await machine.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
  // The service's endpoints come a moment after the pod is ready.
  const trace = await typedAgain(
    () => machine.ok("trace", "deploy/web"),
    (text) => ["create pods", "endpointslices", "endpoints/web"].every((part) => text.includes(part)),
  );
  if (process.env.KNARR_UPDATE) writeFileSync(file, page.replace(block, trace.replace(kubectlName, "(kubectl)")));
  else assert.deepEqual(shapeOf(trace), shapeOf(block.exec(page)?.[0] ?? ""));
});

/** The program calls itself by the name of its file. */
const kubectlName = /\(kubectl[^)]*\)/;

/**
 * What was done because of what, without times, names and numbers. How often counts are written into the status of owners depends on
 * how fast things come one after the other, so these are left out.
 */
function shapeOf(trace: string): readonly string[] {
  const path: string[] = [];
  const lines = trace.split("\n").flatMap((line) => {
    const [, branches = "", text = ""] = /^ *\+[\d.]+ m?s {2}([│├└─ ]*)(\S.*)$/.exec(line) ?? [];
    const what = text
      .replace(/, [\d.]+ m?s$/, "")
      .replace(kubectlName, "(kubectl)")
      .replace(/ {2,}/, " by ")
      .replace(/web(-[a-z0-9]+)+/g, "web-…")
      .replace(/sim-\d/g, "NODE");
    if (what === "") return [];
    const depth = branches.length / 3;
    path.splice(depth, path.length, what);
    return /apps\/\S+ \(status\)/.test(what) ? [] : [path.slice(-2).join(" → ")];
  });
  return [...new Set(lines)].toSorted();
}
