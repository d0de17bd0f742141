// A snapshot in the place of a cluster's state, as a person puts it there.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ClusterFolder } from "#cluster/local/cluster-folder.ts";
import { restoreCluster } from "#cluster/local/restore.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { Machine } from "./machine.ts";

const kubectl = findKubectls().at(-1)?.path;
const skip = kubectl === undefined ? "there is no kubectl" : false;

test("a running cluster gets the state of a snapshot, and keeps what it had before beside it", { skip }, async () => {
  await using machine = new Machine(kubectl);
  await machine.ok("up", "--runtime=simulated", "--port=0");
  const store = join(machine.clusters, "knarr", "store");
  const snapshot = join(machine.clusters, "snapshot");
  await machine.kubectl("create", "configmap", "old");
  await machine.ok("store", "snapshot", store, snapshot);
  await machine.kubectl("delete", "configmap", "old");
  await machine.kubectl("create", "configmap", "new");

  const restored = await machine.ok("store", "restore", snapshot, "--name=knarr");
  assert.match(restored, /^Cluster "knarr" has the state of the snapshot: revision \d+, /m);
  const [, kept = ""] = /^What it had before is in (\S+);/m.exec(restored) ?? [];
  assert.ok(existsSync(join(kept, "store.lmdb")));
  const names = await machine.kubectl("get", "configmaps", "-o", "name");
  assert.match(names, /^configmap\/old$/m);
  assert.doesNotMatch(names, /new/);

  // Back again, from the folder that was kept, into a cluster that is stopped.
  await machine.ok("stop");
  assert.match(await machine.ok("store", "restore", kept, "--name=knarr"), /^It was stopped, and still is/m);
  await machine.ok("start");
  assert.match(await machine.kubectl("get", "configmaps", "-o", "name"), /^configmap\/new$/m);

  const broken = join(machine.clusters, "broken");
  writeFileSync(broken, readFileSync(snapshot).subarray(0, 20_000));
  const refused = await machine.knarr("store", "restore", broken, "--name=knarr");
  assert.deepEqual([refused.code, /damaged|cut|not a store/.test(refused.err)], [1, true], refused.err);
  assert.match(await machine.ok("status"), /\(running, /); // it was not even stopped
  assert.match(
    (await machine.knarr("store", "restore", snapshot, "--name=nobody")).err,
    /there is no cluster "nobody"/,
  );
  assert.equal((await machine.knarr("store", "restore", snapshot, store, "--name=knarr")).code, 2);

  // By the cluster's name, whatever the kubeconfig says.
  writeFileSync(machine.kubeconfig, "");
  assert.match(await machine.ok("why", "configmap/new", "--name=knarr"), /^ConfigMap default\/new is there/);
  assert.match(
    await machine.ok("trace", "configmap/old", "--name", "knarr").catch(String),
    /no write to it is remembered/,
  );
  const both = await machine.knarr("why", "configmap/new", "--name=knarr", "--context=x");
  assert.deepEqual([both.code, /--name says which cluster/.test(both.err)], [2, true]);
});

test("a cluster that cannot start from a snapshot has back what it had", { skip }, async () => {
  await using machine = new Machine(kubectl);
  await machine.ok("up", "--runtime=simulated", "--port=0");
  const place = new ClusterFolder({ name: "knarr", "data-dir": machine.clusters });
  const snapshot = join(machine.clusters, "snapshot");
  await machine.ok("store", "snapshot", place.store, snapshot);
  await machine.kubectl("create", "configmap", "new");
  const starts: string[] = [];
  const start = async () => {
    starts.push(existsSync(`${place.store}.restoring`) ? "beside a draft" : "from the store");
    if (starts.length === 1) throw new Error("no port is free");
  };
  const ignore = () => undefined;
  await assert.rejects(
    restoreCluster({ place, snapshot, onProgress: ignore, onChecked: ignore, start }),
    /could not be started from the snapshot; it runs again with what it had before$/,
  );
  assert.deepEqual(starts, ["from the store", "from the store"]);
  assert.deepEqual(
    readdirSync(place.folder).filter((name) => name.startsWith("store")),
    ["store"],
  );
  await machine.ok("start");
  assert.match(await machine.kubectl("get", "configmaps", "-o", "name"), /^configmap\/new$/m);
});

test("a cluster is gone, and comes back from its backup under another name; a backup with a wrong byte changes nothing", {
  skip,
}, async () => {
  await using machine = new Machine(kubectl);
  await machine.ok("up", "--runtime=simulated", "--port=0", "--name=old");
  await machine.kubectl("create", "secret", "generic", "word", "--from-literal=word=kept");
  const uid = await machine.kubectl("get", "secret", "word", "-o", "jsonpath={.metadata.uid}");
  const backup = join(machine.home, "it.backup");
  assert.match(
    await machine.ok("backup", backup, "--name=old"),
    /^\S+: cluster "old" as of revision \d+, \d+ keys\.$/m,
  );
  assert.equal(statSync(backup).mode & 0o777, 0o600);
  assert.match((await machine.knarr("backup", backup, "--name=old")).err, /exists; choose another name/);
  await machine.ok("down", "--name=old");

  const bytes = readFileSync(backup);
  for (const [at, complaint] of [
    [bytes.lastIndexOf("files/ca.key") + 600, /files\/ca\.key in it is not as it was written/],
    [bytes.length - 20_000, /store\.lmdb in it is not as it was written/],
  ] as const) {
    const wrong = Buffer.from(bytes);
    wrong[at] = (wrong[at] ?? 0) ^ 1;
    writeFileSync(join(machine.home, "wrong"), wrong);
    const refused = await machine.knarr("restore", join(machine.home, "wrong"));
    assert.deepEqual([refused.code, complaint.test(refused.err)], [1, true], refused.err);
  }
  writeFileSync(join(machine.home, "short"), bytes.subarray(0, 3_000));
  assert.match(
    (await machine.knarr("restore", join(machine.home, "short"))).err,
    /cannot be used as a backup: .*(cut off|is missing in it)/,
  );
  assert.match((await machine.knarr("restore", backup, "--bind-address=x")).err, /"x" is not an address/);
  assert.deepEqual(readdirSync(machine.clusters), []);

  const restored = await machine.ok("restore", backup, "--name=knarr");
  assert.match(restored, /^Cluster "knarr" is as it was at \S+Z: revision \d+, \d+ keys\.$/m);
  assert.equal(
    await machine.kubectl("get", "secret", "word", "-o", "jsonpath={.metadata.uid} {.data.word}"),
    `${uid} a2VwdA==`,
  );
  assert.match(
    (await machine.knarr("restore", backup, "--name=knarr")).err,
    /there is a cluster "knarr" on this machine/,
  );
});
