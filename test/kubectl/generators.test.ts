// What commands make from their arguments is what the real kubectl makes of them, to the byte, and so are refusals.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/base/clock.ts";
import { seededRandom } from "../../src/base/random.ts";
import { kubectl } from "../../src/kubectl/main.ts";
import { findKubectls } from "../apiserver/kubectls.ts";

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

const cwd = fileURLToPath(new URL("../..", import.meta.url));
const env = { ...process.env, KUBECONFIG: "/dev/null", HOME: "/nonexistent" };

async function ours(args: readonly string[]): Promise<Outcome> {
  const texts = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") => ({
    write: (data: string | Uint8Array) => {
      texts[name] += Buffer.from(data).toString();
    },
  });
  const stdin = Readable.from([]);
  const io = {
    stdin,
    stdout: stream("stdout"),
    stderr: stream("stderr"),
    env,
    cwd,
    clock: systemClock,
    random: seededRandom(1),
  };
  const code = await kubectl(args, { ...io, signal: new AbortController().signal });
  return { ...texts, code };
}

const theirs = (path: string, args: readonly string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    execFile(path, args, { cwd, env, encoding: "utf8" }, (error, stdout, stderr) =>
      resolve({ stdout, stderr, code: error ? Number(error.code) : 0 }),
    );
  });

/** Before 1.34 every object that was never created said when that was not. */
const comparable = ({ stdout, stderr, code }: Outcome): Outcome => ({
  stdout: stdout.replaceAll(/^ *creationTimestamp: null\n/gm, "").replaceAll("metadata: {}", "metadata:"),
  stderr,
  code,
});

const lines = readFileSync(new URL("cases/generators.txt", import.meta.url), "utf8")
  .trim()
  .split("\n");
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) => double ?? single ?? bare ?? "");

function withFlags(line: string, flags: readonly string[]): readonly string[] {
  const words = wordsOf(line);
  const dash = words.indexOf("--");
  return dash < 0 ? [...words, ...flags] : words.toSpliced(dash, 0, ...flags);
}

test("generators make what the real kubectl makes", async (t) => {
  const real = findKubectls().at(-1);
  if (!real) return t.skip("there is no kubectl");
  for (const line of lines) {
    const args = withFlags(line, ["--dry-run=client", "-o", "yaml"]);
    assert.deepEqual(comparable(await ours(args)), comparable(await theirs(real.path, args)), line);
  }
});

const made = async (
  line: string,
): Promise<{ kind: string; name: string; spec: Record<string, unknown>; stderr: string }> => {
  const { stdout, stderr, code } = await ours([...withFlags(line, ["--dry-run=client", "-o", "json"])]);
  assert.equal(code, 0, stderr);
  const { kind, metadata, spec } = JSON.parse(stdout);
  return { kind, name: metadata.name, spec, stderr };
};

test("run without a name is the run of before 1.18, and says so", async () => {
  const deployment = await made("run --image=registry:5000/team/nginx:1.27 --replicas=3");
  assert.deepEqual([deployment.kind, deployment.name, deployment.spec.replicas], ["Deployment", "nginx", 3]);
  assert.match(deployment.stderr, /^note: .*before 1\.18/);
  assert.equal((await made("run --image=busybox --restart=OnFailure")).kind, "Job");
  assert.equal((await made("run --image=busybox --restart-policy=Never")).kind, "Pod");
  assert.equal((await made("run x --image=busybox --schedule='* * * * *' --restart=OnFailure")).kind, "CronJob");
  assert.equal((await made("run x --image=busybox --generator=run/v1 --replicas=2")).kind, "ReplicationController");
});

test("run with a name and only today's flags is today's, and says nothing", async () => {
  const pod = await made("run web --image=nginx --restart=OnFailure");
  assert.deepEqual([pod.kind, pod.spec.restartPolicy, pod.stderr], ["Pod", "OnFailure", ""]);
});

test("what a server would refuse is refused before it is asked", async () => {
  const refusal = async (line: string) => (await ours(wordsOf(line))).stderr;
  assert.match(await refusal("run web --image=nginx:a:b"), /Invalid image name "nginx:a:b": invalid reference format/);
  assert.match(await refusal("run Web_1 --image=nginx"), /The Pod "Web_1" is invalid: metadata.name: Invalid value/);
  assert.match(await refusal("run --image=nginx --replicas=3 --restart=Never"), /requires that --replicas=1, found 3/);
  assert.match(await refusal("run x --image=nginx --generator=nope"), /generator "nope" not found/);
});
