// Full disks under a cluster of real nodes: that of one node, and that of the store.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { systemClock } from "#base/clock.ts";
import { CriConnection } from "#kubelet/host/cri/connection.ts";
import { rpcs } from "#kubelet/host/cri/messages.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { fillDisk } from "../machine/fill-disk.ts";
import { impossible } from "../machine/machine.ts";
import { Machine } from "./machine.ts";
import { containerOf, patienceMs, RealCluster, untilNone } from "./real-cluster.ts";

const busybox = "knarr.local/busybox:1.0";
/** All names of images that have the same layers. */
const lost = ["1.0", "1.1", "latest"].map((tag) => `knarr.local/nginx:${tag}`);
/** Enough for a sandbox, too little for these. */
const sandboxBytes = 3 * 2 ** 20;
const sleep = ["sleep", "3600"];
const neverAborted = new AbortController().signal;

const machine = new Machine(findKubectls().at(-1)?.path);
let cluster: RealCluster;
/** That of node-1; the store and node-2 are on another. */
let nodeDisk: string;

const mount = (folder: string, size: string) => {
  mkdirSync(folder, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=0700`, "tmpfs", folder]);
};

before(async () => {
  if (impossible) return;
  mount(machine.clusters, "512m");
  cluster = await RealCluster.plan(machine, { label: "f", nodes: 2 });
  nodeDisk = join(cluster.place.nodes, "node-1");
  mount(nodeDisk, "512m");
  await cluster.up();
  await cluster.hasImages();
  for (const [name, node] of [
    ["calm-1", "node-1"],
    ["calm-2", "node-2"],
    ["leaving", "node-2"],
  ] as const)
    await create(name, node, { command: sleep });
  for (const name of ["calm-1", "calm-2", "leaving"])
    await cluster.become(name, ({ status }) => status.phase === "Running");
});

after(async () => {
  if (!impossible) {
    await cluster[Symbol.asyncDispose]();
    execFileSync("umount", ["--lazy", machine.clusters]);
  }
  await machine[Symbol.asyncDispose]();
});

const create = (name: string, nodeName: string, container: object, spec: object = {}, namespace = "default") =>
  cluster.withClient((client) =>
    client.create(Pod, {
      metadata: { namespace, name },
      spec: {
        nodeName,
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "main", image: busybox, ...container }],
        ...spec,
      },
    }),
  );

/** Asks until it is said. */
const untilSaid = (said: RegExp, ask: () => Promise<string>) =>
  untilNone(patienceMs, async () => {
    const text = await ask();
    return said.test(text) ? [] : [`${said} is not in: ${text}`];
  });
const status = () => machine.ok("status", `--name=${cluster.name}`);

test("a pod that fills its node's disk is put out, and images that no registry has stay", {
  skip: impossible,
}, async () => {
  const data = { name: "data", mountPath: "/data" };
  const fill = ["sh", "-c", "cat /dev/zero > /data/big; sleep 3600"];
  await create("hog", "node-1", { command: fill, volumeMounts: [data] }, { volumes: [{ name: "data", emptyDir: {} }] });
  const hog = await cluster.become("hog", (pod) => pod.status.phase === "Failed");
  assert.equal(hog.status.reason, "Evicted");
  assert.match(hog.status.message ?? "", /^The node was low on resource: ephemeral-storage\. /);
  await untilSaid(/^node-1 +kubelet has disk pressure$/m, status);
  assert.doesNotMatch(await status(), /^node-2/m);
  const { out } = await machine.knarr("why", "node/node-1");
  assert.match(out, /^Node node-1 is ready, but short of something: DiskPressure\./);
  await cluster.hasImages();
  await machine.kubectl("delete", "pod", "hog");
});

test("an image for which there is no room says so, and is pulled when there is", { skip: impossible }, async () => {
  const [node] = cluster.local.nodes;
  assert.ok(node);
  const runtime = new CriConnection(`unix://${node.containerd.socket}`, systemClock);
  for (const image of lost)
    await runtime.call(rpcs.removeImage, { image: { image } }, { timeoutMs: patienceMs, signal: neverAborted });
  runtime.close();
  const ballast = join(nodeDisk, "ballast");
  fillDisk(ballast);
  truncateSync(ballast, statSync(ballast).size - sandboxBytes);
  // A node that is short of disk takes only what it cannot do without.
  const critical = { priorityClassName: "system-node-critical" };
  await create("pull", "node-1", { image: lost[0], imagePullPolicy: "Always" }, critical, "kube-system");
  const isPulling = (pod: Pod) => /no space left on device/.test(containerOf(pod)?.state?.waiting?.message ?? "");
  await cluster.become("pull", isPulling, "kube-system");
  rmSync(ballast);
  await cluster.become("pull", (pod) => containerOf(pod)?.state?.running, "kube-system");
  await machine.kubectl("delete", "pod", "pull", "--namespace=kube-system");
});

test("a store without room refuses writes with a sentence; reads and deletes go on, and writes when there is room", {
  skip: impossible,
}, async () => {
  const ballast = join(machine.clusters, "ballast");
  fillDisk(ballast);
  const write = () => machine.run("kubectl", ["create", "configmap", "one", `--from-literal=x=${"x".repeat(100_000)}`]);
  await untilNone(patienceMs, async () => {
    const { code, err } = await write();
    if (code === 0) await machine.kubectl("delete", "configmap", "one");
    return /the disk is full; free some space there, or delete objects/.test(err) ? [] : [`${code} ${err}`];
  });
  assert.match(await machine.kubectl("get", "pods"), /calm-1 +1\/1 +Running/);
  assert.match(await status(), /the disk is full/);
  await machine.kubectl("delete", "pod", "leaving", "--timeout=120s");
  rmSync(ballast);
  await untilNone(patienceMs, async () => {
    const { code, err } = await write();
    return code === 0 ? [] : [err];
  });
  assert.doesNotMatch(await status(), /the disk is full/);
});

test("the pods beside them have not noticed, and nothing is left", { skip: impossible }, async () => {
  for (const name of ["calm-1", "calm-2"]) {
    const calm = await cluster.become(name, ({ status }) => status.phase === "Running");
    assert.equal(containerOf(calm)?.restartCount, 0);
    assert.equal(await machine.kubectl("exec", name, "--", "echo", "well"), "well\n");
  }
  await machine.ok("down", `--name=${cluster.name}`);
  await cluster.leftNothing();
});
