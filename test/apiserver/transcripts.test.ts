// Unmodified kubectls of every version found, held to transcripts: each file against a fresh server.
// KNARR_UPDATE=1 rewrites what is expected from what the newest kubectl gets; the reviewer reads the diff.
// Each runs with the oldest and the newest kubectl and one of those between; KNARR_KUBECTLS=all for all, or names versions.
// KNARR_TRANSCRIPT=name runs only that file.
import assert from "node:assert/strict";
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ServerProcess } from "./harness.ts";
import { findKubectls, type Kubectl, minorOf } from "./kubectls.ts";
import { formatTranscript, parseTranscript, runCommand, type Step, steady } from "./transcript.ts";

const folder = fileURLToPath(new URL("transcripts", import.meta.url));
const chosen = process.env.KNARR_TRANSCRIPT ?? "*";
const files = globSync(join(folder, `${chosen}.txt`)).toSorted();
const update = Boolean(process.env.KNARR_UPDATE);
const kubectls = findKubectls();

if (kubectls.length === 0) test("transcripts need a kubectl", { skip: "none was found" });

for (const [i, file] of files.entries()) {
  test(`transcript ${basename(file, ".txt")}`, { concurrency: 2 }, async (t) => {
    if (update) await rewrite(file);
    const steps = parseTranscript(readFileSync(file, "utf8"));
    assert.ok(steps.length > 0, `${file} has no command`);
    await Promise.all(
      chosenFor(i).map((kubectl) => t.test(`with kubectl ${kubectl.version}`, () => replay(steps, kubectl))),
    );
  });
}

function chosenFor(file: number): readonly Kubectl[] {
  const wanted = process.env.KNARR_KUBECTLS;
  if (wanted !== undefined) return kubectls.filter(({ version }) => wanted === "all" || wanted.includes(version));
  const between = kubectls.slice(1, -1);
  const chosen = [kubectls.at(0), between.at(file % Math.max(1, between.length)), kubectls.at(-1)];
  return [...new Set(chosen)].filter((one) => one !== undefined);
}

async function replay(steps: readonly Step[], kubectl: Kubectl): Promise<void> {
  const wrong: string[] = [];
  for await (const { step, output } of run(steps, kubectl)) {
    if (output === step.expected) continue;
    wrong.push(`$ ${step.command}\n--- expected\n${step.expected}--- got\n${output}`);
  }
  assert.equal(wrong.length, 0, `with kubectl ${kubectl.version}\n\n${wrong.join("\n")}`);
}

/** Oldest first, so that what all versions run is written as the newest prints it. */
async function rewrite(file: string): Promise<void> {
  const ends = new Set([kubectls.at(0), kubectls.at(-1)]);
  for (const kubectl of ends) {
    if (!kubectl) continue;
    const steps = parseTranscript(readFileSync(file, "utf8"));
    const outputs = new Map<Step, string>();
    for await (const { step, output } of run(steps, kubectl)) outputs.set(step, output);
    const rewritten = steps.map((step) => ({ ...step, expected: outputs.get(step) ?? step.expected }));
    writeFileSync(file, formatTranscript(rewritten));
  }
}

const concerns = ({ versions }: Step, { version }: Kubectl): boolean => {
  if (versions === "") return true;
  const difference = minorOf(version) - minorOf(versions);
  return versions.endsWith("+") ? difference >= 0 : difference <= 0;
};

async function* run(steps: readonly Step[], kubectl: Kubectl): AsyncGenerator<{ step: Step; output: string }> {
  // No controller makes the service accounts that pods would be refused without.
  await using server = await ServerProcess.start({ flags: ["--disable-admission-plugins=ServiceAccount"] });
  const [home, bin] = [join(server.folder, "home"), join(server.folder, "bin")];
  for (const made of [home, bin]) mkdirSync(made);
  symlinkSync(kubectl.path, join(bin, "kubectl"));
  const env = {
    PATH: [bin, process.env.PATH].join(delimiter),
    HOME: home,
    KUBECONFIG: server.kubeconfig,
    KUBECTL_EXTERNAL_DIFF: "diff -u -N --label live --label merged",
    TZ: "UTC",
    LC_ALL: "C.UTF-8",
    CA: server.file("ca.crt"),
    CERT: server.file("admin.crt"),
    KEY: server.file("admin.key"),
    SERVER: server.url,
  };
  for (const step of steps) {
    if (!concerns(step, kubectl)) continue;
    const output = await runCommand(step.command, { folder: home, env });
    yield { step, output: steady(output, { folder: home, url: server.url }) };
  }
}
