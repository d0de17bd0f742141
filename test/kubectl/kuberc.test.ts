// Preferences, completion and plugins: what is there without a server.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { run as runLine } from "./running.ts";

class Home implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "knarr-home-"));

  constructor(kuberc?: string) {
    mkdirSync(join(this.path, ".kube"));
    if (kuberc !== undefined) writeFileSync(join(this.path, ".kube/kuberc"), kuberc);
  }

  run = (line: string, env: Readonly<Record<string, string>> = {}, input = "") =>
    runLine(line.split(" "), { env: { HOME: this.path, ...env }, cwd: this.path, input });

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

const beta = `
apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
defaults:
- command: create configmap
  options: [{name: dry-run, default: client}, {name: output, default: name}]
aliases:
- name: mk
  command: create configmap
  prependArgs: [first]
  appendArgs: [--from-literal=a=b]
  options: [{name: dry-run, default: client}, {name: output, default: yaml}]
- name: get
  command: create configmap
`;

test("defaults of flags hold unless the person says otherwise", async () => {
  using home = new Home(beta);
  assert.equal((await home.run("create configmap x")).stdout, "configmap/x\n");
  assert.match((await home.run("create configmap x -o json")).stdout, /"kind": "ConfigMap"/);
  assert.match((await home.run("create configmap x --output=json")).stdout, /"kind": "ConfigMap"/);
  assert.equal((await home.run("create configmap x", { KUBERC: "off" })).code, 1, "there is no server to create it");
});

test("an alias is a command with arguments and flags of its own, and never hides a command", async () => {
  using home = new Home(beta);
  const made = await home.run("mk");
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stdout, /data:\n {2}a: b\n[\s\S]*name: first\n/);
  assert.match((await home.run("mk -o json")).stdout, /"name": "first"/);
  assert.match((await home.run("get pods")).stderr, /refused|localhost:8080/);
});

test("preferences of v1alpha1 are read as well", async () => {
  using home = new Home(`
apiVersion: kubectl.config.k8s.io/v1alpha1
kind: Preference
overrides:
- command: create configmap
  flags: [{name: dry-run, default: client}, {name: output, default: name}]
aliases:
- name: mk
  command: create configmap
  flags: [{name: dry-run, default: client}, {name: output, default: name}]
`);
  assert.equal((await home.run("create configmap x")).stdout, "configmap/x\n");
  assert.equal((await home.run("mk y")).stdout, "configmap/y\n");
});

test("wrong preferences are told; of the usual file they are no reason to fail", async () => {
  using home = new Home("kind: Nothing");
  const usual = await home.run("version --client");
  assert.equal(usual.code, 0);
  assert.match(usual.stderr, /no preferences loaded from .*: no valid preferences found/);
  const named = await home.run("version --client --kuberc=.kube/kuberc");
  assert.deepEqual([named.code, /^error: kuberc error/.test(named.stderr)], [1, true]);
  assert.match((await home.run("version --client --kuberc=none")).stderr, /no such file or directory/);
  writeFileSync(join(home.path, ".kube/kuberc"), `${beta}- name: m-k\n  command: get\n`);
  assert.match((await home.run("version --client --kuberc=.kube/kuberc")).stderr, /invalid alias name/);
  const off = await home.run("version --client --kuberc=x", { KUBERC: "off" });
  assert.match(off.stderr, /mutually exclusive/);
});

test("kuberc set writes what kuberc view shows and commands heed", async () => {
  using home = new Home();
  const set = "kuberc set --section defaults --command version --option client=true";
  const first = await home.run(set);
  assert.equal(first.stdout, `Updated ${home.path}/.kube/kuberc\n`, first.stderr);
  assert.match((await home.run(set)).stderr, /already exist, use --overwrite/);
  assert.equal((await home.run(`${set} --overwrite`)).code, 0);
  assert.equal((await home.run("version")).code, 0, "the server is not asked");
  await home.run("kuberc set --section aliases --name getn --command get --prependarg nodes --option output=wide");
  await home.run("kuberc set --section credentialplugin --policy Allowlist --allowlist-entry command=helper");
  const { stdout } = await home.run("kuberc view");
  assert.equal(stdout, readFileSync(join(home.path, ".kube/kuberc"), "utf8"));
  assert.match(stdout, /name: getn\n/);
  assert.match(stdout, /credentialPluginPolicy: Allowlist\n/);
  for (const [line, why] of [
    ["kuberc set --command get", /required flag\(s\) "section" not set/],
    ["kuberc set --section nothing", /--section must be/],
    ["kuberc set --section aliases --command get", /--name is required/],
    ["kuberc set --section defaults --name x --command get", /should not be specified/],
    ["kuberc set --section defaults", /--command is required/],
    ["kuberc set --section defaults --command get --option x", /invalid option format "x"/],
    ["kuberc set --section credentialplugin --policy DenyAll --allowlist-entry command=x", /may only be used/],
    ["kuberc set --section credentialplugin --policy Allowlist --allowlist-entry x=y", /unrecognized allowlist entry/],
  ] as const)
    assert.match((await home.run(line)).stderr, why, line);
});

test("a shell asks for commands, flags and values", async () => {
  using home = new Home();
  writeFileSync(
    join(home.path, ".kube/config"),
    JSON.stringify({
      contexts: [
        { name: "here", context: {} },
        { name: "there", context: {} },
      ],
    }),
  );
  const lines = async (line: string) => (await home.run(line)).stdout.trim().split("\n");
  assert.deepEqual(await lines("__complete api-"), [
    "api-resources\tPrint the API resources that the server serves",
    'api-versions\tPrint the API versions that the server serves, as "group/version"',
    ":4",
  ]);
  assert.deepEqual(await lines("__completeNoDesc config use-context "), ["here", "there", ":4"]);
  assert.deepEqual(await lines("__completeNoDesc get --context t"), ["there", ":4"]);
  assert.deepEqual(await lines("__completeNoDesc get --context=t"), ["--context=there", ":4"]);
  assert.deepEqual(await lines("__completeNoDesc get -o js"), [
    "json",
    "jsonpath",
    "jsonpath-as-json",
    "jsonpath-file",
    ":4",
  ]);
  assert.deepEqual(await lines("__completeNoDesc get --no-h"), ["--no-headers", ":4"]);
  assert.deepEqual(await lines("__completeNoDesc apply -f "), [":0"], "files are the shell's");
  assert.deepEqual(await lines("__completeNoDesc rollout st"), ["status", ":4"]);
  assert.deepEqual(await lines("__completeNoDesc nothing "), [":4"]);
});

test("bash completes with what completion prints", async () => {
  using home = new Home();
  const { stdout } = await home.run("completion bash");
  const program = join(home.path, "kubectl");
  writeFileSync(program, `#!/bin/sh\nshift; printf '%s\\n' "got-$*" other : | sed '$ s/:/:4/'\n`);
  chmodSync(program, 0o755);
  const { execFileSync } = await import("node:child_process");
  const script = `${stdout}\nCOMP_WORDS=(${program} get go); COMP_CWORD=2; __kubectl_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
  assert.equal(execFileSync("bash", ["-c", script], { encoding: "utf8" }), "got-get go\n");
  for (const shell of ["zsh", "fish", "powershell"])
    assert.match((await home.run(`completion ${shell}`)).stdout, /__complete/);
});

test("programs on the PATH are commands, the longest name first, and never hide one of ours", async () => {
  using home = new Home();
  const bin = join(home.path, "bin");
  const later = join(home.path, "later");
  for (const folder of [bin, later]) mkdirSync(folder);
  const add = (folder: string, name: string, mode = 0o755) =>
    writeFileSync(join(folder, name), `#!/bin/sh\nexit ${name.length}\n`, { mode });
  add(bin, "kubectl-my");
  add(bin, "kubectl-my-own_thing");
  add(bin, "kubectl-version");
  add(bin, "kubectl-plain", 0o644);
  add(bin, "kubectl-create-thing");
  add(later, "kubectl-my");
  const env = { PATH: `${bin}:${later}:${bin}:/nowhere` };
  assert.equal((await home.run("my", env)).code, "kubectl-my".length);
  assert.equal((await home.run("my own-thing --flag", env)).code, "kubectl-my-own_thing".length);
  assert.equal((await home.run("my other", env)).code, "kubectl-my".length);
  assert.equal((await home.run("create thing", env)).code, "kubectl-create-thing".length);
  assert.match((await home.run("version --client", env)).stdout, /Client Version/);
  assert.match((await home.run("plain", env)).stderr, /unknown command "plain" for "kubectl"/);
  const list = await home.run("plugin list", env);
  assert.equal(list.code, 1);
  assert.equal(
    list.stdout,
    `The following compatible plugins are available:\n\n${["create-thing", "my", "my-own_thing", "plain", "version"].map((name) => `${bin}/kubectl-${name}\n`).join("")}${later}/kubectl-my\n`,
  );
  assert.equal(
    list.stderr,
    [
      'Unable to read directory "/nowhere" from your PATH: open /nowhere: no such file or directory. Skipping...',
      `  - warning: kubectl-create-thing overwrites existing command: "kubectl create"`,
      `  - warning: ${bin}/kubectl-plain identified as a kubectl plugin, but it is not executable`,
      `  - warning: kubectl-version overwrites existing command: "kubectl version"`,
      `  - warning: ${later}/kubectl-my is overshadowed by a similarly named plugin: ${bin}/kubectl-my`,
      "error: 4 plugin warnings were found",
      "",
    ].join("\n"),
  );
  const names = await home.run("plugin list --name-only", env);
  assert.match(names.stdout, /\nkubectl-create-thing\nkubectl-my\n/);
});
