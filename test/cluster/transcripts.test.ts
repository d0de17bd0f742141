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
import { withoutChance } from "./chance.ts";
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

test("transcripts of clusters", { concurrency: 3, timeout: 900_000 }, async (t) => {
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
      takesTime: true,
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
