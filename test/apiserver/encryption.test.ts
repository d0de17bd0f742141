// A server as people start it, on a real etcd, with a key service behind a socket: what is in etcd, what kubectl sees, and a store of upstream's.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";
import { TestKms } from "#store/testing/kms-plugin.ts";
import { ServerProcess } from "./harness.ts";
import { findKubectls } from "./kubectls.ts";

const kubectl = findKubectls().at(-1)?.path;
const skip = noEtcd || (kubectl === undefined ? "there is no kubectl" : false);

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "knarr-encryption-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Written by kube-apiserver's own code (k8s.io/apiserver v0.36.3) under this key, with the secret 00 01 02 … */
const upstream = {
  key: "/registry/secrets/default/a",
  secret: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  value:
    "JeUkhZ6/4W/s5hjFuNOfYFJxY00lwow1x60OfjWFa05mDrNuDND7q5X6+hz8BLynGQ4mJTbXFVEfZFsTwnduz1cKkgxHrhHYbQR0hgOMc9gT1MAYx/pf",
};

test("in etcd there is no plain text, what upstream wrote is read, and the key service's health is the server's", {
  skip,
}, async (t) => {
  const cluster = await startEtcd();
  t.after(() => cluster.stop());
  await using kms = await TestKms.start();
  const file = join(scratch(t), "encryption.yaml");
  writeFileSync(
    file,
    `kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v2, name: ours, endpoint: "${kms.endpoint}"}
  - aesgcm: {keys: [{name: key1, secret: ${upstream.secret}}]}
- resources: [configmaps]
  providers: [{secretbox: {keys: [{name: box, secret: ${upstream.secret}}]}}]
`,
  );
  const raw = new EtcdStore({ endpoints: cluster.endpoints, clock: systemClock, random: systemRandom, log: silentLog });
  t.after(() => raw.close());
  const prefix = Buffer.from("k8s:enc:aesgcm:v1:key1:");
  await raw.put(upstream.key, Buffer.concat([prefix, Buffer.from(upstream.value, "base64")]), 0);

  await using server = await ServerProcess.start({
    flags: [`--etcd-servers=${cluster.endpoints.join(",")}`, `--encryption-provider-config=${file}`],
  });
  const run = (...args: readonly string[]) =>
    execFileSync(kubectl ?? "", args, { env: { ...process.env, KUBECONFIG: server.kubeconfig }, encoding: "utf8" });
  assert.equal(run("get", "secret", "a", "-o", "jsonpath={.metadata.name}"), "a", "upstream's");
  run("create", "secret", "generic", "b", "--from-literal=password=hunter2");
  run("create", "configmap", "c", "--from-literal=word=hunter2");
  assert.equal(run("get", "secret", "b", "-o", "jsonpath={.data.password}"), "aHVudGVyMg==");
  assert.equal(run("get", "configmap", "c", "-o", "jsonpath={.data.word}"), "hunter2");

  const { entries } = await raw.list("/registry/");
  const heads = new Map(entries.map(({ key, value }) => [key, Buffer.from(value).toString("latin1")]));
  assert.match(heads.get("/registry/secrets/default/b") ?? "", /^k8s:enc:kms:v2:ours:/);
  assert.match(heads.get("/registry/configmaps/default/c") ?? "", /^k8s:enc:secretbox:v1:box:/);
  assert.match(heads.get("/registry/namespaces/default") ?? "", /^\{/, "nobody asked for that");
  for (const [key, value] of heads)
    for (const plain of ["hunter2", "aHVudGVyMg=="]) assert.ok(!value.includes(plain), key);

  const ready = run("get", "--raw", "/readyz?verbose");
  assert.match(ready, /^\[\+\]kms-providers ok$/m);
  assert.doesNotMatch(run("get", "--raw", "/livez?verbose"), /kms-providers/);
});

test("a file that cannot be used ends the start with what is wrong, and no secret", async (t) => {
  const folder = scratch(t);
  const file = join(folder, "encryption.yaml");
  const secret = "dG9wIHNlY3JldCBidXQgdG9vIHNob3J0";
  writeFileSync(
    file,
    `kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources: [{resources: [secrets], providers: [{aescbc: {keys: [{name: a, secret: ${secret}AA}]}}]}]\n`,
  );
  const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
  const start = async (...flags: readonly string[]) => {
    const args = [main, "apiserver", "--store=memory", "--secure-port=0", `--cert-dir=${folder}`, ...flags];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
    return { code, said };
  };
  const wrong = await start(`--encryption-provider-config=${file}`);
  assert.equal(wrong.code, 1);
  assert.match(wrong.said, /--encryption-provider-config.*aescbc\.keys\[0\]\.secret: Invalid value: "REDACTED"/s);
  assert.ok(!wrong.said.includes(secret));
  const alone = await start("--encryption-provider-config-automatic-reload");
  assert.equal(alone.code, 2);
  assert.match(alone.said, /must be set with --encryption-provider-config/);
});
