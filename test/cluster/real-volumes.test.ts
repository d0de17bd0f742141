// A stateful set with claims on real nodes: its data outlives pods, scaling, growing and a stop of the cluster, and goes with its claims.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { impossible } from "../machine/machine.ts";
import { Machine } from "./machine.ts";
import { patienceMs, RealCluster, untilNone } from "./real-cluster.ts";

const machine = new Machine(findKubectls().at(-1)?.path);
let cluster: RealCluster;

before(async () => {
  if (impossible) return;
  cluster = await RealCluster.plan(machine, { label: "w", nodes: 2 });
  await cluster.up();
  await cluster.hasImages();
});

after(async () => {
  if (!impossible) await cluster[Symbol.asyncDispose]();
  await machine[Symbol.asyncDispose]();
});

const namespace = "default";
const place = { namespace, name: "db" };
const labels = { app: "db" };
const names = [0, 1, 2].map((i) => `data-db-${i}`);
const group = 2000;
/** Each start of a pod leaves a line with its name; a user who is not root writes it, to a part of the volume. */
const set = {
  metadata: place,
  spec: {
    replicas: 3,
    serviceName: "db",
    podManagementPolicy: "Parallel" as const,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 0,
        securityContext: { runAsUser: 1000, fsGroup: group },
        containers: [
          {
            name: "main",
            image: "knarr.local/busybox:1.0",
            command: ["sh", "-c", "hostname >> /data/starts; exec sleep 3600"],
            volumeMounts: [{ name: "data", mountPath: "/data", subPath: "part" }],
          },
        ],
      },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce" as const], resources: { requests: { storage: "64Mi" } } },
      },
    ],
  },
};

const untilReady = (count: number) =>
  untilNone(patienceMs, () =>
    cluster.withClient(async (client) => {
      const { status, metadata } = await client.get(StatefulSet, place);
      const { items } = await client.list(Pod, { namespace });
      const isSo =
        status.observedGeneration === metadata.generation && status.readyReplicas === count && items.length === count;
      const said = items.map((pod) => JSON.stringify([pod.metadata.name, pod.status]));
      return isSo ? [] : [`${status.readyReplicas} are ready`, ...said];
    }),
  );

/** Where the volume of each claim is on the host. */
const folders = () =>
  cluster.withClient((client) =>
    Promise.all(
      names.map(async (name) => {
        const { volumeName = "" } = (await client.get(PersistentVolumeClaim, { namespace, name })).spec;
        return (await client.get(PersistentVolume, { name: volumeName })).spec.local?.path ?? "";
      }),
    ),
  );
const startsIn = (folder: string) =>
  readFileSync(join(folder, "part", "starts"), "utf8")
    .trim()
    .split("\n");
const scale = (replicas: number) =>
  cluster.withClient((client) => client.patch(StatefulSet, place, "merge", { spec: { replicas } }));

test("the data of a stateful set outlives its pods, scaling, growing and a stop, and goes with its claims", {
  skip: impossible,
}, async () => {
  await cluster.withClient((client) => client.create(StatefulSet, set));
  await untilReady(3);
  const made = await folders();
  assert.deepEqual(made.map(startsIn), [["db-0"], ["db-1"], ["db-2"]]);
  for (const folder of made) {
    const [, node] = /\/(node-\d)\/volumes\/pvc-/.exec(folder) ?? assert.fail(folder);
    assert.ok(cluster.local.nodes.some(({ name, folder: own }) => name === node && folder.startsWith(`${own}/`)));
    assert.equal(statSync(folder).gid, group);
  }
  assert.equal(await machine.kubectl("exec", "db-1", "--", "cat", "/data/starts"), "db-1\n");
  assert.match(
    await machine.kubectl("get", "storageclass"),
    /^local \(default\) +knarr\.dev\/local +Delete +WaitForFirstConsumer +true/m,
  );

  const { spec: where } = await cluster.become("db-1", () => true);
  const summary = JSON.parse(
    await machine.kubectl("get", "--raw", `/api/v1/nodes/${where.nodeName}/proxy/stats/summary`),
  );
  const measured = summary.pods.find((pod: { podRef: { name: string } }) => pod.podRef.name === "db-1").volume;
  const claimed = measured.find((volume: { name: string }) => volume.name === "data");
  assert.deepEqual(claimed.pvcRef, { name: "data-db-1", namespace });
  assert.ok(claimed.capacityBytes >= claimed.usedBytes && claimed.usedBytes > 0);

  await machine.kubectl("delete", "pod", "db-0");
  await untilReady(3);
  await scale(1);
  await untilReady(1);
  await scale(3);
  await untilReady(3);
  assert.deepEqual(await folders(), made);
  assert.deepEqual(made.map(startsIn), [
    ["db-0", "db-0"],
    ["db-1", "db-1"],
    ["db-2", "db-2"],
  ]);

  const spec = { resources: { requests: { storage: "128Mi" } } };
  const grown = { namespace, name: "data-db-2" };
  const before = await cluster.become("db-2", () => true);
  await cluster.withClient((client) => client.patch(PersistentVolumeClaim, grown, "merge", { spec }));
  await untilNone(patienceMs, async () => {
    const { status } = await cluster.withClient((client) => client.get(PersistentVolumeClaim, grown));
    return status.capacity?.storage === "128Mi" && !status.conditions ? [] : [JSON.stringify(status)];
  });
  const { metadata, status } = await cluster.become("db-2", () => true);
  assert.deepEqual(
    [metadata.uid, status.containerStatuses?.[0]?.restartCount],
    [before.metadata.uid, 0],
    "nobody had to start again",
  );

  await machine.ok("stop", `--name=${cluster.name}`);
  for (const folder of made) assert.ok(existsSync(join(folder, "part", "starts")));
  await machine.ok("start", `--name=${cluster.name}`);
  await untilReady(3);
  assert.deepEqual(await folders(), made);
  for (const [i, folder] of made.entries()) assert.deepEqual(startsIn(folder).slice(0, 2), [`db-${i}`, `db-${i}`]);

  await cluster.withClient((client) => client.delete(StatefulSet, place));
  await untilNone(patienceMs, async () => (await cluster.pods()).map((pod) => JSON.stringify(pod.status)));
  for (const folder of made) assert.ok(existsSync(folder), "a claim keeps its volume without pods");
  await machine.kubectl("delete", "pvc", ...names);
  await untilNone(patienceMs, async () => {
    const volumes = await cluster.withClient(async (client) => (await client.list(PersistentVolume)).items);
    return [...volumes.map((volume) => JSON.stringify(volume)), ...made.filter(existsSync)];
  });
  for (const { folder } of cluster.local.nodes)
    if (existsSync(join(folder, "volumes"))) assert.deepEqual(readdirSync(join(folder, "volumes")), []);
});
