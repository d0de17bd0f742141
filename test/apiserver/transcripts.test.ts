// Unmodified kubectls of every version found, held to transcripts: each file against a fresh server.
import { basename } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ServerProcess } from "./harness.ts";
import type { Kubectl } from "./kubectls.ts";
import { chosenKubectls, kubectls, makeHome, replay, rewrite, rewriters, type Stage, transcriptsIn } from "./replay.ts";
import { steady } from "./transcript.ts";

const files = transcriptsIn(fileURLToPath(new URL("transcripts", import.meta.url)));

if (kubectls.length === 0) test("transcripts need a kubectl", { skip: "none was found" });

for (const [i, file] of files.entries()) {
  test(`transcript ${basename(file, ".txt")}`, { concurrency: 2 }, async (t) => {
    for (const kubectl of rewriters) await rewrite(file, kubectl, freshServer);
    await Promise.all(
      chosenKubectls(i).map((kubectl) =>
        t.test(`with kubectl ${kubectl.version}`, () => replay(file, kubectl, freshServer)),
      ),
    );
  });
}

async function freshServer(kubectl: Kubectl): Promise<Stage> {
  // No controller makes the service accounts that pods would be refused without.
  const server = await ServerProcess.start({ flags: ["--disable-admission-plugins=ServiceAccount"] });
  const { folder, env } = makeHome(server.folder, kubectl);
  return {
    folder,
    env: {
      ...env,
      KUBECONFIG: server.kubeconfig,
      KUBECTL_EXTERNAL_DIFF: "diff -u -N --label live --label merged",
      CA: server.file("ca.crt"),
      CERT: server.file("admin.crt"),
      KEY: server.file("admin.key"),
      SERVER: server.url,
    },
    steady: (output) => steady(output, { folder, url: server.url }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
