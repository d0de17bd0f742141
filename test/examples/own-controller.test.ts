import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { retry } from "#base/retry.ts";
import { Client } from "#client/client.ts";
import { emptyKubeconfig, printKubeconfig, withEntry } from "#client/kubeconfig.ts";
import { world } from "#client/testing.ts";
import { Certificates } from "#cluster/certificates.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import { welcome } from "../../examples/03-own-controller/controller.ts";

const annotated = (name: string, text: string) => ({
  metadata: { name, annotations: { "example.com/welcome": text } },
});

test("an annotated namespace is welcomed", async () => {
  const w = world({ now: "2026-01-01T00:00:00Z" });
  const shop = w.have(Namespace, annotated("shop", "hello"));

  await w.reconcile(welcome, shop);

  assert.deepEqual(w.writes(), ["create ConfigMap shop/welcome"]);
  assert.deepEqual(w.events(), ["Normal Welcomed Wrote the welcome of shop"]);

  await w.reconcile(welcome, shop);
  assert.deepEqual(w.writes(), []);
});

test("a welcome follows its annotation, and one that others made stays", async () => {
  const w = world();
  const shop = w.have(Namespace, annotated("shop", "hello"));
  await w.reconcile(welcome, shop);
  await w.client.patch(Namespace, shop.metadata, "merge", {
    metadata: { annotations: { "example.com/welcome": "hi" } },
  });
  await w.reconcile(welcome, shop);
  assert.equal(w.get(ConfigMap, { namespace: "shop", name: "welcome" })?.data?.text, "hi");
  await w.client.patch(Namespace, shop.metadata, "merge", { metadata: { annotations: null } });
  await w.reconcile(welcome, shop);
  assert.equal(w.get(ConfigMap, { namespace: "shop", name: "welcome" }), undefined);
  w.have(ConfigMap, { metadata: { namespace: "shop", name: "welcome" } });
  w.writes();
  await w.reconcile(welcome, shop);
  assert.deepEqual(w.writes(), []);
});

test("the program works against a cluster of a kubeconfig, and ends when asked to", async () => {
  const folder = mkdtempSync(join(tmpdir(), "own-controller-"));
  const certificates = new Certificates(folder, systemClock);
  const authority = certificates.authority();
  const serving = certificates.issue("server", { commonName: "server", hosts: ["127.0.0.1"] });
  await using server = await testServer();
  const front = httpsFront({ ...serving, clientCa: authority.cert, handler: server.server.handle, log: silentLog });
  const url = `https://127.0.0.1:${await front.listen(0, "127.0.0.1")}`;
  const cluster = { server: url, "certificate-authority-data": Buffer.from(authority.cert).toString("base64") };
  const own = certificates.issue("me", { commonName: "me", organizations: ["system:masters"] });
  const user = { "client-certificate": "me.crt", "client-key-data": Buffer.from(own.key).toString("base64") };
  const kubeconfig = join(folder, "config");
  writeFileSync(kubeconfig, printKubeconfig(withEntry(emptyKubeconfig, "test", cluster, user)));
  const program = spawn(process.execPath, ["examples/03-own-controller/main.ts"], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const said: string[] = [];
  program.stderr.on("data", (chunk) => said.push(String(chunk)));
  const ended = once(program, "exit");
  try {
    const limit = AbortSignal.timeout(60_000); // only to end a test that would never end
    const client = new Client({ transport: server.server.request, user: testUser, userAgent: "test/1", signal: limit });
    await client.create(Namespace, annotated("shop", "hello"));
    const welcomed = () => client.get(ConfigMap, { namespace: "shop", name: "welcome" });
    const patience = { clock: systemClock, firstMs: 20, maxMs: 200 };
    const first = await retry(welcomed, patience, limit);
    await client.delete(ConfigMap, first.metadata);
    const second = await retry(welcomed, patience, limit);
    assert.deepEqual([first.data, second.data], [{ text: "hello" }, { text: "hello" }]);
    assert.notEqual(first.metadata.uid, second.metadata.uid);
    program.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null], said.join(""));
  } finally {
    program.kill("SIGKILL");
    await front.close(1000);
    rmSync(folder, { recursive: true });
  }
});
