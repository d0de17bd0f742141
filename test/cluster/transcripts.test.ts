// Unmodified kubectls against a whole cluster with simulated nodes, held to transcripts. A cluster for each kubectl, in which the
// files run one after the other, each in a namespace of its own name. KNARR_UPDATE and its kin: see ../apiserver/replay.ts.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Kubectl } from "../apiserver/kubectls.ts";
import {
  chosenKubectls,
  kubectls,
  makeHome,
  type OpenStage,
  replay,
  rewrite,
  rewriters,
  type Stage,
  transcriptsIn,
} from "../apiserver/replay.ts";
import { runCommand, steady } from "../apiserver/transcript.ts";
import { Machine } from "./machine.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const files = transcriptsIn(fileURLToPath(new URL("transcripts", import.meta.url)));
const newest = kubectls.at(-1);

if (newest === undefined) test("transcripts need a kubectl", { skip: "none was found" });

for (const kubectl of rewriters)
  test(`transcripts of clusters are rewritten with kubectl ${kubectl.version}`, async () => {
    await using machine = await startedMachine();
    for (const file of files) await rewrite(file, kubectl, openIn(machine, file));
  });

test("transcripts of clusters", { concurrency: 3 }, async (t) => {
  await Promise.all(
    chosenKubectls(kubectls.length >> 1).map((kubectl) =>
      t.test(`with kubectl ${kubectl.version}`, async (t) => {
        await using machine = await startedMachine();
        for (const file of files) await t.test(nameOf(file), () => replay(file, kubectl, openIn(machine, file)));
      }),
    ),
  );
});

function nameOf(file: string): string {
  return basename(file, ".txt");
}

async function startedMachine(): Promise<Machine> {
  const machine = new Machine(newest?.path);
  await machine.ok("up", "--runtime=simulated", "--nodes=3", "--port=0");
  return machine;
}

function openIn(machine: Machine, file: string): OpenStage {
  return async (kubectl: Kubectl): Promise<Stage> => {
    const own = mkdtempSync(join(machine.home, `${nameOf(file)}-`));
    const { folder, env } = makeHome(own, kubectl);
    writeFileSync(join(own, "bin", "knarr"), `#!/bin/sh\nexec "${process.execPath}" "${root}/src/main.ts" "$@"\n`, {
      mode: 0o755,
    });
    const kubeconfig = join(own, "kubeconfig");
    writeFileSync(kubeconfig, readFileSync(machine.kubeconfig), { mode: 0o600 });
    const shell = {
      folder,
      env: {
        ...env,
        KUBECONFIG: kubeconfig,
        NAMESPACE: nameOf(file),
        KNARR_DATA_DIR: machine.clusters,
        NODE_COMPILE_CACHE: machine.env.NODE_COMPILE_CACHE,
      },
    };
    const problem = await runCommand(opening, shell);
    if (problem !== "") throw new Error(`there is no namespace for ${file}: ${problem}`);
    return {
      ...shell,
      steady: (output) => steady(withoutChance(output), { folder, url: "https://cluster" }),
      [Symbol.asyncDispose]: async () => rmSync(own, { recursive: true }),
    };
  };
}

/** Pods are refused until their namespace has its service account. */
const opening = `{
  kubectl create namespace "$NAMESPACE"
  kubectl config set-context --current --namespace="$NAMESPACE"
  first 1 kubectl get serviceaccounts --field-selector=metadata.name=default --watch --output=name
} > opening || cat opening`;

/** Output without the names, addresses and counts that no two clusters share. */
function withoutChance(output: string): string {
  let text = output;
  for (const [pattern, replacement] of chance) text = text.replaceAll(pattern, replacement);
  return text;
}

const suffix = "[bcdfghjklmnpqrstvwxz2456789]";
const chance: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`-${suffix}{6,10}-${suffix}{5}\\b`, "g"), "-<hash>-<suffix>"],
  [new RegExp(`-${suffix}{5}\\b`, "g"), "-<suffix>"],
  [new RegExp(`(-|pod-template-hash[=:] *)${suffix}{6,10}\\b`, "g"), "$1<hash>"],
  [/\b10\.244\.\d+\.\d+\b/g, "<pod-ip>"],
  [/\b10\.96\.\d+\.\d+\b/g, "<service-ip>"],
  // Which of the nodes the scheduler chose; where a command is about a node, its name leads the line.
  [/(?<!^)(?<!node\/|nodes? |^Name: +|node "|^ {2}(?:sim-\d, )*)\bsim-\d\b/gm, "<node>"],
  [/^waiting for .*\n/gim, ""], // as often as the rollout was looked at
  [/ in \d+m?s \(\d+m?s including waiting\)/g, " in <time>"],
  [/\b172\.24\.0\.\d\b/g, "<node-ip>"],
  [/simulated:\/\/[0-9a-f]+$/gm, "simulated://<id>"],
  [/ConfigMapOptional: +<nil>/g, "Optional:   false"], // newer kubectls' words
  [/^ *\+[\d.]+ m?s /gm, "+<time> "],
  [/(?<=\d pods? +)\+[\d.]+ m?s( to \+[\d.]+ m?s)?$/gm, "+<time>"],
  [/(system:node:\S+), [\d.]+ m?s$/gm, "$1"],
  [/(\(\w+\)), [\d.]+ m?s$/gm, "$1, <time>"],
  [/^(The first request spent its time in) .*$/gm, "$1 <stages>"],
  [/^( +)\d+[smh]\d* ago/gm, "$1<age> ago"],
  [/^( +)for \w+, since .*$/gm, "$1for <age>, since <time>"],
  [/ \((?:\d+ times, last )?\w+ ago\):/g, " (<age> ago):"],
  [/^( +next \w+): .*$/gm, "$1: <soon>"],
  [/\(x\d+ over [\dms]+\)/g, "(<times>)"],
];
