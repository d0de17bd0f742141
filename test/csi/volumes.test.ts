// Volumes of a storage driver on a real node: registered, provisioned, attached, mounted, used by containers, and taken back.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Event } from "#api/core/v1/event.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { CSINode } from "#api/storage/v1/csi-node.ts";
import { systemClock } from "#base/clock.ts";
import { impossible } from "../kubelet/containerd.ts";
import { isReady, namespace, shell } from "../kubelet/machine-node.ts";
import { grpcCode, mountsAt } from "./driver.ts";
import { GrpcFault } from "./grpc-server.ts";
import { driverName } from "./volume-churn.ts";
import { CsiWorld, canLoop } from "./world.ts";

const forever = "trap 'exit 0' TERM; sleep 1000 & wait";
const claimed = (claimName: string, more: object = {}) => ({
  volumes: [{ name: "data", persistentVolumeClaim: { claimName, ...more } }],
});
const atData = { volumeMounts: [{ name: "data", mountPath: "/data" }] };

test("a volume is attached, staged and published for a pod, shared by the next, and taken back after the last", {
  skip: impossible,
}, async () => {
  await using world = await CsiWorld.start({ maxVolumes: 7, topology: { "test.dev/zone": "z1" } });
  const { node, driver, client } = world;
  await node.startKubelet();
  const csiNode = await node.until(async () => {
    const found = await client.find(CSINode, { name: "n1" });
    return found && found.spec.drivers.length > 0 && found;
  }, "the driver in the CSINode");
  assert.deepEqual(csiNode.spec.drivers, [
    { name: driverName, nodeID: "test-node", topologyKeys: ["test.dev/zone"], allocatable: { count: 7 } },
  ]);
  const { metadata } = (await node.node()) ?? assert.fail();
  assert.equal(metadata.annotations?.["csi.volume.kubernetes.io/nodeid"], `{"${driverName}":"test-node"}`);
  assert.equal(metadata.labels?.["test.dev/zone"], "z1");
  await node.until(async () => driver.told.length > 0, "a word for the driver"); // it comes after the CSINode
  assert.deepEqual(driver.told, [{ pluginRegistered: true, error: "" }]);

  const claim = await world.claim("data");
  await node.create("one", {
    ...shell(`echo one >> /data/log; ${forever}`, atData),
    ...claimed("data"),
    securityContext: { fsGroup: 2000 },
  });
  const one = await node.untilPod("one", isReady);
  const name = `pvc-${claim.metadata.uid}`;
  const folder = driver.folderOf(name);
  await node.until(async () => existsSync(join(folder, "log")), "what the container writes");
  assert.equal(statSync(folder).gid, 2000, "the volume is the group's");
  const unique = `kubernetes.io/csi/${driverName}^${name}`;
  assert.deepEqual((await node.node())?.status.volumesInUse, [unique]);
  const pod = join(world.kubeletFolder, "pods", one.metadata.uid, "volumes/kubernetes.io~csi", name);
  const data = JSON.parse(readFileSync(join(pod, "vol_data.json"), "utf8"));
  assert.match(data.attachmentID, /^csi-[0-9a-f]{64}$/);
  assert.deepEqual(
    { ...data, attachmentID: "" },
    {
      attachmentID: "",
      driverName,
      nodeName: "n1",
      specVolID: name,
      volumeHandle: name,
      volumeLifecycleMode: "Persistent",
    },
  );
  assert.equal(mountsAt(join(pod, "mount")), 1);
  const stage = driver.last("NodeStageVolume");
  assert.match(
    String(stage.stagingTargetPath),
    /\/plugins\/kubernetes\.io\/csi\/test\.csi\.knarr\.dev\/[0-9a-f]{64}\/globalmount$/,
  );
  assert.deepEqual({ ...(stage.publishContext as object) }, { device: `/dev/of-${name}` });
  assert.deepEqual({ ...(stage.volumeContext as object) }, { made: "by test" });

  await node.create("two", {
    ...shell(`echo two >> /data/log; ${forever}`, atData),
    ...claimed("data", { readOnly: false }),
  });
  await node.untilPod("two", isReady);
  await node.until(async () => readFileSync(join(folder, "log"), "utf8") === "one\ntwo\n", "the second line");
  assert.equal(driver.countOf("NodeStageVolume"), 1, "it is staged once for both");
  await node.remove("one");
  assert.equal(driver.countOf("NodeUnstageVolume"), 0, "the other has it");
  await node.remove("two");
  await world.untilClean();
  const steps = driver.calls.map(({ method }) => method).filter((method) => /Volume$/.test(method));
  assert.deepEqual(steps, [
    "CreateVolume",
    "ControllerPublishVolume",
    "NodeStageVolume",
    "NodePublishVolume",
    "NodePublishVolume",
    "NodeUnpublishVolume",
    "NodeUnpublishVolume",
    "NodeUnstageVolume",
    "ControllerUnpublishVolume",
  ]);

  driver.stop();
  await node.until(async () => (await client.get(CSINode, { name: "n1" })).spec.drivers.length === 0, "its going");
  assert.equal((await node.node())?.metadata.annotations?.["csi.volume.kubernetes.io/nodeid"], undefined);
});

test("a claim grows while it is used, and its usage is measured", { skip: impossible }, async () => {
  await using world = await CsiWorld.start();
  const { node, driver, client } = world;
  const kubelet = await node.startKubelet({ volumeRefreshMs: 500 });
  const claim = await world.claim("data");
  await node.create("one", { ...shell(forever, atData), ...claimed("data") });
  const before = await node.untilPod("one", isReady);
  const place = { namespace, name: "data" };
  await client.patch(PersistentVolumeClaim, place, "merge", { spec: { resources: { requests: { storage: "16Mi" } } } });
  await node.until(async () => {
    const { status } = await client.get(PersistentVolumeClaim, place);
    return status.capacity?.storage === "16Mi" && !status.conditions && !status.allocatedResourceStatuses;
  }, "a larger claim");
  assert.deepEqual(
    { ...(driver.last("NodeExpandVolume").capacityRange as object) },
    { requiredBytes: 2 ** 24, limitBytes: 0 },
  );
  const after = await node.untilPod("one", isReady);
  assert.equal(after.status.containerStatuses?.[0]?.containerID, before.status.containerStatuses?.[0]?.containerID);
  const { pods } = (await kubelet.stats?.("all", new AbortController().signal)) ?? assert.fail();
  const measured = pods.find(({ podRef }) => podRef.name === "one")?.volume?.find(({ name }) => name === "data");
  assert.deepEqual(measured?.pvcRef, { name: "data", namespace });
  assert.ok((measured?.capacityBytes ?? 0) > 0 && driver.countOf("NodeGetVolumeStats") > 0);
  assert.equal(driver.last("NodeGetVolumeStats").volumeId, `pvc-${claim.metadata.uid}`);
  await node.remove("one");
  await world.untilClean();
});

test("a container has a block device, and only reads what it may only read", {
  skip: impossible || (canLoop() ? false : "there are no loop devices"),
}, async () => {
  await using world = await CsiWorld.start();
  const { node, driver } = world;
  await node.startKubelet();
  const block = await world.claim("block", { volumeMode: "Block" });
  await node.create("writer", {
    ...shell(`printf knarr > /dev/xvda; ${forever}`, { volumeDevices: [{ name: "data", devicePath: "/dev/xvda" }] }),
    ...claimed("block"),
  });
  const writer = await node.untilPod("writer", isReady);
  const image = driver.imageOf(`pvc-${block.metadata.uid}`);
  await node.until(async () => readFileSync(image).subarray(0, 5).toString() === "knarr", "what the container wrote");
  assert.ok((driver.last("NodePublishVolume").volumeCapability as { block?: object }).block);
  assert.match(
    String(driver.last("NodePublishVolume").targetPath),
    new RegExp(`/volumeDevices/publish/pvc-${block.metadata.uid}/${writer.metadata.uid}$`),
  );
  await node.dropKubelet();
  await node.startKubelet();
  await node.remove("writer");
  await world.untilClean();

  await world.claim("text");
  await node.create("first", {
    ...shell("echo kept > /data/file", atData),
    ...claimed("text"),
    restartPolicy: "Never",
  });
  await node.untilPod("first", ({ status }) => status.phase === "Succeeded");
  const look = "cat /data/file; echo no > /data/file && exit 1; exit 0";
  const readOnly = { ...shell(look, atData), ...claimed("text", { readOnly: true }), restartPolicy: "Never" as const };
  await node.create("reader", readOnly);
  await node.untilPod("reader", ({ status }) => status.phase === "Succeeded");
  assert.equal(driver.last("NodePublishVolume").readonly, true);
  for (const name of ["first", "reader"]) await node.remove(name);
  await world.untilClean();
});

test("an inline volume knows its pod, has tokens that are renewed, and is never attached", {
  skip: impossible,
}, async () => {
  await using world = await CsiWorld.start(
    { capabilities: [6] },
    {
      attachRequired: false,
      podInfoOnMount: true,
      volumeLifecycleModes: ["Persistent", "Ephemeral"],
      tokenRequests: [{ audience: "vault", expirationSeconds: 600 }],
      requiresRepublish: true,
      fsGroupPolicy: "File",
    },
  );
  const { node, driver, client } = world;
  await node.startKubelet({ volumeRefreshMs: 300 });
  await client.create(Secret, { metadata: { namespace, name: "key" }, data: { password: btoa("geheim") } });
  const csi = { driver: driverName, volumeAttributes: { colour: "blue" }, nodePublishSecretRef: { name: "key" } };
  await node.create("inline", {
    ...shell(forever, atData),
    serviceAccountName: "default",
    securityContext: { fsGroup: 2000 },
    volumes: [{ name: "data", csi }],
  });
  const pod = await node.untilPod("inline", isReady);
  const call = driver.last("NodePublishVolume");
  const { "csi.storage.k8s.io/serviceAccount.tokens": tokens, ...context } = call.volumeContext as Record<
    string,
    string
  >;
  assert.deepEqual(context, {
    colour: "blue",
    "csi.storage.k8s.io/ephemeral": "true",
    "csi.storage.k8s.io/pod.name": "inline",
    "csi.storage.k8s.io/pod.namespace": namespace,
    "csi.storage.k8s.io/pod.uid": pod.metadata.uid,
    "csi.storage.k8s.io/serviceAccount.name": "default",
  });
  assert.ok(JSON.parse(tokens ?? "").vault.token);
  assert.deepEqual({ ...(call.secrets as object) }, { password: "geheim" });
  assert.match(String(call.volumeId), /^csi-[0-9a-f]{64}$/);
  const mount = (call.volumeCapability as { mount?: { volumeMountGroup: string } }).mount;
  assert.equal(mount?.volumeMountGroup, "2000", "the driver gives it to the group");
  await node.until(async () => driver.countOf("NodePublishVolume") >= 3, "that it is published again");
  assert.equal(world.mounted().length, 1);
  await node.remove("inline");
  await world.untilClean();
  assert.equal(driver.countOf("ControllerPublishVolume") + driver.countOf("NodeStageVolume"), 0);
});

test("a driver that fails, hangs and dies keeps a pod waiting, and loses nothing", { skip: impossible }, async () => {
  await using world = await CsiWorld.start();
  const { node, driver, client } = world;
  await node.startKubelet();
  const claim = await world.claim("data");
  let failures = 0;
  driver.fault = ({ method }) => {
    if (method === "NodeStageVolume" && failures++ < 2) throw new GrpcFault(grpcCode.internal, "the disk is on fire");
  };
  await node.create("one", { ...shell(`echo one >> /data/log; ${forever}`, atData), ...claimed("data") });
  await node.untilPod("one", isReady);
  const { items } = await client.list(Event, { namespace });
  const said = items.filter(({ reason }) => reason === "FailedMount").map(({ message }) => message);
  const wanted = `MountVolume.SetUp failed for volume "data" : rpc error: code = Internal desc = the disk is on fire`;
  assert.ok(said.includes(wanted), said.join("\n"));
  // It dies while the pod runs, and is asked to take the volume back by another that has taken its place.
  driver.crash();
  await client.delete(Pod, { namespace, name: "one" });
  await node.until(async () => (await node.pod("one"))?.status.containerStatuses?.[0]?.state.terminated, "the end");
  assert.equal(world.mounted().length, 2, "staged and published");
  let hanging = true;
  driver.fault = async ({ method }) => {
    while (hanging && method === "NodeUnpublishVolume") await systemClock.sleep(50, new AbortController().signal);
  };
  await driver.start();
  await node.until(async () => driver.countOf("NodeUnpublishVolume") > 0, "a call that hangs");
  assert.ok(await node.pod("one"), "the pod stays while its volume does");
  hanging = false;
  await node.until(async () => (await node.pod("one")) === undefined, "the end of the pod");
  await world.untilClean();
  assert.equal(readFileSync(join(driver.folderOf(`pvc-${claim.metadata.uid}`), "log"), "utf8"), "one\n");
});
