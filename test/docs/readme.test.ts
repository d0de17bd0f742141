// The tour of the README, typed as it stands there. Its `./knarr` is a command in the folder of the test that adds what a test needs: a
// name and addresses of its own, so that no other cluster is touched, no way out of the machine, any port, and nothing installed. Without
// root or without containerd the nodes are simulated, and what takes real containers is left out.
// KNARR_UPDATE=1 writes what the commands print into both READMEs, all from one run with the addresses and the launcher that a person
// has; the reviewer reads the diff.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Kubectl } from "../apiserver/kubectls.ts";
import { kubectls, makeHome } from "../apiserver/replay.ts";
import { runCommand, steady, typedAgain } from "../apiserver/transcript.ts";
import { withoutChance } from "../cluster/chance.ts";
import { Machine } from "../cluster/machine.ts";
import { RealCluster } from "../cluster/real-cluster.ts";
import { ourProgram } from "../kubectl/ours.ts";
import { impossible } from "../machine/machine.ts";
import { consoleBlocks, type Shown, shortened, shownIn, withOutputs } from "./console.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pages = ["README.md", "README.zh-CN.md"].map((file) => ({
  path: join(root, file),
  text: readFileSync(join(root, file), "utf8"),
}));
const [english = { path: "", text: "" }, chinese = english] = pages;
const isUpdate = Boolean(process.env.KNARR_UPDATE);
const newest = kubectls.at(-1);

const isReal = !impossible;

test("both READMEs show the same commands", { skip: isUpdate && "they are rewritten" }, () => {
  assert.deepEqual(consoleBlocks(chinese.text), consoleBlocks(english.text));
});

for (const { path, text } of pages)
  test(`${path.slice(root.length)} refers to files that exist`, () => {
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, link = ""]) => link);
    assert.ok(links.length > 3);
    assert.deepEqual(
      links.filter((link) => !existsSync(join(root, link))),
      [],
    );
  });

test(`the tour of the README goes as it says, on ${isReal ? "real" : "simulated"} nodes`, async (t) => {
  // As on a machine without a kubectl: with ours alone, by that name. KNARR_TOUR=real types it with a real one.
  using ours = ourProgram();
  const kubectl: Kubectl = process.env.KNARR_TOUR === "real" && newest ? newest : { path: ours.path, version: "1.36" };
  await using machine = new Machine(kubectl.path);
  await using cluster = isReal ? await RealCluster.plan(machine, { label: "r", nodes: 3 }) : undefined;
  const place = placeFor(kubectl, machine, cluster);
  const steps = shownIn(english.text);
  assert.ok(steps.length > 20);
  const outputs: (string | undefined)[] = [];
  for (const step of steps) {
    if (step.isReal && !isReal) continue;
    const output = await shown(step, place);
    outputs.push(step.expected.includes("…\n") ? shortened(step.expected, output) : output);
    if (isUpdate) continue;
    if (step.command.startsWith("./knarr up")) assert.match(output, isReal ? /^3 nodes ready/m : /simulated/, output);
    // Simulated nodes come up with other words.
    if (isReal || !step.command.startsWith("./knarr up")) await t.test(step.command, () => compare(step, output));
  }
  await cluster?.leftNothing();
  if (isUpdate && isReal) for (const { path, text } of pages) writeFileSync(path, withOutputs(text, outputs));
});

type Place = ReturnType<typeof placeFor>;

function placeFor(kubectl: Kubectl, machine: Machine, cluster: RealCluster | undefined) {
  const name = cluster?.name ?? "knarr";
  const { folder, env } = makeHome(machine.home, kubectl);
  const theirs = isUpdate ? /^(up$|--nodes|--name|--\S*(range|cidr))/ : /^(up$|--nodes|--name)/;
  const flags = cluster?.upArgs("--no-install").filter((flag) => !theirs.test(flag)) ?? [
    "--runtime=simulated",
    "--port=0",
  ];
  const knarr = `#!/bin/sh
case $1 in up) set -- "$@" ${flags.join(" ")} ;; esac
case $1 in trace | why | kubectl) ;; *) set -- "$@" --name=${name} ;; esac
exec ${isUpdate ? `"${root}knarr"` : `"${process.execPath}" "${root}src/main.ts"`} "$@"
`;
  writeFileSync(join(folder, "knarr"), knarr, { mode: 0o755 });
  const { KNARR_DATA_DIR, NODE_COMPILE_CACHE } = machine.env;
  const shell = { folder, env: { ...env, KNARR_DATA_DIR, NODE_COMPILE_CACHE } };
  return {
    /** What a command prints, as if the cluster had no name and port of its own. */
    run: async (command: string) =>
      (await runCommand(command, shell))
        .replaceAll(` --name=${name}`, "")
        .replaceAll(`knarr-${name}`, "knarr-knarr")
        .replaceAll(`"${name}"`, '"knarr"')
        .replaceAll(/(?<=https:\/\/127\.0\.0\.1:)\d+/g, "6443")
        .replaceAll(/^Waiting for deployment .*\n/gm, ""),
  };
}

const onlyLooks = /^(kubectl (get|logs|exec client)|curl|\.\/knarr (trace|why|status)) /;
const PATIENCE_MS = isUpdate ? 5_000 : undefined;

async function shown(step: Shown, place: Place): Promise<string> {
  const type = () => place.run(step.command);
  if (!onlyLooks.test(step.command)) return type();
  return typedAgain(type, (output) => differs(step, output) === undefined, PATIENCE_MS);
}

function compare(step: Shown, output: string): void {
  const difference = differs(step, output);
  if (difference) assert.deepEqual(difference.got, difference.expected, output);
}

function differs(step: Shown, output: string) {
  const expected = essence(step.expected);
  const printed = essence(output);
  const got = expected.includes("…") ? ["…", ...expected.filter((line) => printed.includes(line))] : printed;
  const wanted = expected.includes("…") ? ["…", ...expected.filter((line) => line !== "…")] : expected;
  return got.join("\n") === wanted.join("\n") ? undefined : { expected: wanted, got };
}

/** What is the same on every machine and every time. */
function essence(output: string): readonly string[] {
  let text = steady(withoutChance(output), { folder: "<no folder>", url: "<no server>" });
  for (const [pattern, replacement] of varying) text = text.replaceAll(pattern, replacement);
  return text
    .split("\n")
    .map((line) => line.replaceAll(/[·│├└─\s]+/g, " ").trim())
    .filter((line) => line !== "");
}

const varying: readonly (readonly [RegExp, string])[] = [
  [/\b(\d{1,3}\.){3}\d{1,3}\b|<(service|pod|node)-ip>/g, "<ip>"],
  [/\b(sim|node)-\d\b|<node>/g, "<node>"],
  [/:3\d{4}\/TCP/g, ":<port>/TCP"],
  [/\([\d.]+ m?s\)/g, "(<time>)"],
  [/\(\w+ ago\)/g, "(<age> ago)"],
  [/\[\d\d\/\w{3}\/\d{4}:[\d:]+ \+0000\]/g, "[<time>]"],
  [/curl\/[\d.]+/g, "curl/<version>"],
  // A page tells its pod's address, which is as long as it is.
  [/(?<=HTTP\/1\.1" 200 )\d+/g, "<size>"],
];
