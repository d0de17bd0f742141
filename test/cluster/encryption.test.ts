// The Secrets of a cluster of this machine, from `up` on: encrypted, told of, and not readable without the key.
import assert from "node:assert/strict";
import { readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { Machine } from "./machine.ts";

const kubectl = findKubectls().at(-1)?.path;
const skip = kubectl === undefined ? "there is no kubectl" : false;

test("a cluster encrypts its Secrets with a key of its own, and reads what it had before", { skip }, async () => {
  await using machine = new Machine(kubectl);
  await machine.ok("up", "--runtime=simulated", "--port=0");
  const folder = join(machine.clusters, "knarr");
  const file = join(folder, "encryption.yaml");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(
    await machine.ok("status"),
    /^encryption +secrets at rest with aesgcm key "key1" \(.*encryption\.yaml\)$/m,
  );
  await machine.kubectl("create", "secret", "generic", "a", "--from-literal=password=hunter2");
  const password = ["get", "secret", "a", "-o", "jsonpath={.data.password}"];
  assert.equal(await machine.kubectl(...password), "aHVudGVyMg==");

  // A snapshot and a copy have the bytes as they are.
  const [store, snapshot, copy] = [
    join(folder, "store"),
    join(machine.clusters, "snapshot"),
    join(machine.clusters, "copy"),
  ];
  await machine.ok("store", "snapshot", store, snapshot);
  await machine.ok("store", "check", snapshot);
  await machine.ok("store", "copy", snapshot, copy);
  for (const bytes of [
    readFileSync(snapshot),
    readFileSync(join(copy, "store.lmdb")),
    readFileSync(join(store, "store.lmdb")),
  ]) {
    assert.ok(bytes.includes("k8s:enc:aesgcm:v1:key1:"));
    for (const plain of ["hunter2", "aHVudGVyMg=="]) assert.ok(!bytes.includes(plain), plain);
  }

  await machine.ok("stop");
  const old = {
    kind: "Secret",
    apiVersion: "v1",
    metadata: { name: "old", namespace: "default" },
    data: { a: "b2xk" },
  };
  const engine = await openLmdbStore({ folder: store, clock: systemClock });
  await engine.put("/registry/secrets/default/old", new TextEncoder().encode(JSON.stringify(old)), 0);
  await engine.close();
  renameSync(file, `${file}.away`);
  const lost = await machine.knarr("start");
  assert.equal(lost.code, 1);
  assert.match(`${lost.err}${lost.out}`, /encryption\.yaml is missing: it has the key/);
  renameSync(`${file}.away`, file);
  await machine.ok("start");
  assert.equal(await machine.kubectl(...password), "aHVudGVyMg==");
  assert.equal(await machine.kubectl("get", "secret", "old", "-o", "jsonpath={.data.a}"), "b2xk", "as it was before");

  // Restored, it is as readable as before: the key belongs to the cluster.
  await machine.kubectl("delete", "secret", "a");
  await machine.ok("store", "restore", snapshot, "--name=knarr");
  assert.equal(await machine.kubectl(...password), "aHVudGVyMg==");
});
