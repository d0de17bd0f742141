// A node whose disk is full: each pod says what it lacks, those that run go on, and all resumes when there is room.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { test } from "node:test";
import { Event } from "#api/core/v1/event.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { fillDisk } from "../machine/fill-disk.ts";
import { impossible } from "./containerd.ts";
import { fastClock, isReady, MachineNode, namespace, shell } from "./machine-node.ts";

const diskBytes = 256 * 2 ** 20;
const talk = shell("trap 'exit 0' TERM; while :; do echo all is well; sleep 1; done");
const idOf = (pod: Pod | undefined) => pod?.status.containerStatuses?.[0]?.containerID;
const never = {
  memoryAvailableBytes: 0,
  nodeFsAvailable: 0,
  nodeFsInodesFree: 0,
  imageFsAvailable: 0,
  imageFsInodesFree: 0,
};

test("a pod that fills the disk is put out, and the node takes others again after a while", {
  skip: impossible,
}, async () => {
  await using node = await MachineNode.start({ diskBytes });
  await node.startKubelet({ clock: fastClock(10) });
  await node.create("calm", talk);
  const calm = await node.untilPod("calm", isReady);
  const work = { name: "work", mountPath: "/work" };
  await node.create("hog", {
    ...shell("cat /dev/zero > /work/big; sleep 1000", { volumeMounts: [work] }),
    volumes: [{ name: "work", emptyDir: {} }],
  });
  const { status } = await node.untilPod("hog", (pod) => pod.status.phase === "Failed");
  assert.equal(status.reason, "Evicted");
  assert.match(
    status.message ?? "",
    /^The node was low on resource: ephemeral-storage\. Threshold quantity: \d+, available: \w+\. $/,
  );
  const pressure = async () => (await node.node())?.status.conditions?.find(({ type }) => type === "DiskPressure");
  await node.until(async () => (await pressure())?.status === "True", "a node that says so");
  await node.create("early", talk);
  const early = await node.untilPod("early", (pod) => pod.status.phase === "Failed");
  assert.match(early.status.message ?? "", /The node had condition: \[DiskPressure\]/);

  await node.until(async () => (await pressure())?.status === "False", "the end of it");
  await node.create("next", talk);
  await node.untilPod("next", isReady);
  const after = await node.pod("calm");
  assert.deepEqual([idOf(after), after?.status.containerStatuses?.[0]?.restartCount], [idOf(calm), 0]);
  const reasons = (await node.client.list(Event, { namespace })).items.map(({ reason }) => reason);
  for (const reason of ["Evicted", "NodeHasDiskPressure", "NodeHasNoDiskPressure"]) assert.ok(reasons.includes(reason));
  for (const name of ["hog", "early", "next", "calm"]) await node.remove(name);
  await node.until(
    async () => readdirSync(`${node.containerd.folder}/kubelet/pods`).length === 0,
    "a node without folders of pods",
  );
});

test("on a disk that others have filled pods go on, end, and start as soon as there is room", {
  skip: impossible,
}, async () => {
  await using node = await MachineNode.start({ diskBytes });
  const { folder } = node.containerd;
  // Without thresholds, so that it is seen what a pod meets that comes before the node has noticed.
  await node.startKubelet({ clock: fastClock(20), thresholds: never });
  for (const name of ["calm", "leaving"]) await node.create(name, talk);
  await node.untilPod("leaving", isReady);
  const calm = await node.untilPod("calm", isReady);
  const log = `${folder}/kubelet/logs/default_calm_${calm.metadata.uid}/web/0.log`;
  const lines = () => readFileSync(log, "utf8").split("\n").length;
  fillDisk(`${folder}/ballast`);

  await node.create("late", talk);
  const { message } = await node.until(
    async () =>
      (await node.client.list(Event, { namespace })).items.find(
        ({ involvedObject, type }) => involvedObject.name === "late" && type === "Warning",
      ),
    "a warning",
  );
  assert.match(message ?? "", /no space left on device/i);
  await node.remove("leaving");
  assert.equal(idOf(await node.pod("calm")), idOf(calm));

  rmSync(`${folder}/ballast`);
  await node.untilPod("late", isReady);
  const before = lines();
  await node.until(async () => lines() > before, "a log that goes on");
  const after = await node.pod("calm");
  assert.deepEqual([idOf(after), after?.status.containerStatuses?.[0]?.restartCount], [idOf(calm), 0]);
  for (const name of ["late", "calm"]) await node.remove(name);
});
