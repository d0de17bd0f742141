import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { attachDetachController } from "./attach-detach.ts";

const namespace = "default";
const driver = "csi.example.com";
const unique = `kubernetes.io/csi/${driver}^handle`;
const nameOn = (node: string) => `csi-${createHash("sha256").update(`handle${driver}${node}`).digest("hex")}`;
const managed = { "volumes.kubernetes.io/controller-managed-attach-detach": "true" };

function volumeWorld(accessModes: PersistentVolume["spec"]["accessModes"] = ["ReadWriteOnce"]) {
  const w = world();
  for (const name of ["n1", "n2"])
    w.have(Node, {
      metadata: { name, annotations: managed },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
  w.have(PersistentVolumeClaim, { metadata: { namespace, name: "data", uid: "u" }, spec: { volumeName: "disk" } });
  w.have(PersistentVolume, {
    metadata: { name: "disk" },
    spec: {
      ...(accessModes && { accessModes: [...accessModes] }),
      csi: { driver, volumeHandle: "handle" },
      claimRef: { namespace, name: "data", uid: "u" },
    },
  });
  return w;
}
const pod = (w: ClientWorld, name: string, nodeName: string, phase: Pod["status"]["phase"] = "Running") =>
  w.have(Pod, {
    metadata: { namespace, name },
    spec: {
      nodeName,
      containers: [{ name: "c", image: "i" }],
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }],
    },
    status: { phase },
  });
const node = (w: ClientWorld, name = "n1") => w.get(Node, { name })!;
const attach = (w: ClientWorld, name: string) => {
  const found = w.get(VolumeAttachment, { name: nameOn(name) })!;
  w.have(VolumeAttachment, { ...found, status: { attached: true } });
};
const attachedTo = (w: ClientWorld, name = "n1") => node(w, name).status.volumesAttached?.map((one) => one.name);

test("a volume is attached for a pod under the name that everybody knows, the node and the pod are told, and it is detached after the pod", async () => {
  const w = volumeWorld();
  const attaching = attachDetachController();
  const web = pod(w, "web", "n1");
  await w.reconcile(attaching, node(w));
  assert.deepEqual(w.writes(), [`create VolumeAttachment ${nameOn("n1")}`]);
  assert.deepEqual(w.get(VolumeAttachment, { name: nameOn("n1") })?.spec, {
    attacher: driver,
    nodeName: "n1",
    source: { persistentVolumeName: "disk" },
  });
  await w.reconcile(attaching, node(w));
  assert.deepEqual([w.writes(), w.events(), attachedTo(w)], [[], [], undefined], "it is not attached yet");

  attach(w, "n1");
  await w.reconcile(attaching, node(w));
  assert.deepEqual(attachedTo(w), [unique]);
  assert.deepEqual(w.events(), ['Normal SuccessfulAttachVolume AttachVolume.Attach succeeded for volume "disk" ']);
  w.writes();
  await w.reconcile(attaching, node(w));
  assert.deepEqual([w.writes(), w.events()], [[], []]);

  w.lose(Pod, web.metadata);
  await w.reconcile(attaching, node(w));
  assert.deepEqual(w.writes(), ["patch Node n1/status", `delete VolumeAttachment ${nameOn("n1")}`]);
});

test("no volume is attached that needs none, for a pod that has ended, or to a node that does it itself", async () => {
  const cases: Readonly<Record<string, (w: ClientWorld) => unknown>> = {
    "the driver does not attach": (w) =>
      w.have(CSIDriver, { metadata: { name: driver }, spec: { attachRequired: false } }),
    "the pod has ended": (w) => pod(w, "web", "n1", "Succeeded"),
    "the node does it itself": (w) => w.have(Node, { ...node(w), metadata: { name: "n1" } }),
    "the claim is another": (w) =>
      w.have(PersistentVolumeClaim, { metadata: { namespace, name: "data", uid: "x" }, spec: { volumeName: "disk" } }),
  };
  for (const [name, have] of Object.entries(cases)) {
    const w = volumeWorld();
    pod(w, "web", "n1");
    have(w);
    await w.reconcile(attachDetachController(), node(w));
    assert.deepEqual(w.writes(), [], name);
  }
});

test("a volume that can be at one node waits until the other lets go, and the pod is told who has it", async () => {
  const w = volumeWorld();
  const attaching = attachDetachController();
  const first = pod(w, "first", "n1");
  await w.reconcile(attaching, node(w));
  attach(w, "n1");
  pod(w, "second", "n2");
  w.writes();
  await w.reconcile(attaching, node(w, "n2"));
  assert.deepEqual(w.events(), [
    'Warning FailedAttachVolume Multi-Attach error for volume "disk" Volume is already used by pod(s) first',
  ]);
  w.lose(Pod, first.metadata);
  await w.reconcile(attaching, node(w, "n2"));
  assert.deepEqual(w.events(), [
    'Warning FailedAttachVolume Multi-Attach error for volume "disk" Volume is already exclusively attached to one node and can\'t be attached to another',
  ]);
  assert.deepEqual(w.writes(), []);
  await w.reconcile(attaching, node(w, "n1"));
  await w.reconcile(attaching, node(w, "n2"));
  assert.deepEqual(
    w.list(VolumeAttachment).map(({ spec }) => spec.nodeName),
    ["n2"],
  );
});

test("a volume that can be at many nodes is attached to each", async () => {
  const w = volumeWorld(["ReadWriteMany"]);
  const attaching = attachDetachController();
  for (const name of ["n1", "n2"]) {
    pod(w, `on-${name}`, name);
    await w.reconcile(attaching, node(w, name));
  }
  assert.equal(w.list(VolumeAttachment).length, 2);
});

test("a mounted volume stays until it is unmounted; by force only after six minutes of a node that is not ready, or if it is out of service", async () => {
  const held = async (change: (w: ClientWorld) => void, waitMs: number) => {
    const w = volumeWorld();
    const attaching = attachDetachController();
    const web = pod(w, "web", "n1");
    await w.reconcile(attaching, node(w));
    attach(w, "n1");
    w.have(Node, { ...node(w), status: { ...node(w).status, volumesInUse: [unique] } });
    w.lose(Pod, web.metadata);
    change(w);
    await w.reconcile(attaching, node(w));
    await w.clock.advance(waitMs);
    await w.reconcile(attaching, node(w));
    return w.list(VolumeAttachment).length === 1;
  };
  const unready = (w: ClientWorld) =>
    w.have(Node, { ...node(w), status: { ...node(w).status, conditions: [{ type: "Ready", status: "Unknown" }] } });
  assert.equal(await held(() => undefined, 3_600_000), true, "a node that is well unmounts it sooner or later");
  assert.equal(await held(unready, 5 * 60_000), true);
  assert.equal(await held(unready, 6 * 60_000), false);
  const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" as const }];
  assert.equal(await held((w) => w.have(Node, { ...node(w), spec: { taints } }), 0), false);
  assert.equal(
    await held((w) => w.have(Node, { ...node(w), status: { conditions: [] } }), 0),
    false,
    "it is unmounted",
  );
});

test("what was attached to a node that is no more is detached after six minutes", async () => {
  const w = volumeWorld();
  const attaching = attachDetachController();
  const web = pod(w, "web", "n1");
  await w.reconcile(attaching, node(w));
  const gone = node(w);
  w.lose(Pod, web.metadata);
  w.lose(Node, { name: "n1" });
  await w.reconcile(attaching, gone);
  assert.equal(w.list(VolumeAttachment).length, 1);
  await w.clock.advance(6 * 60_000);
  await w.reconcile(attaching, gone);
  assert.equal(w.list(VolumeAttachment).length, 0);
});

test("an attacher's failure is told to the pod", async () => {
  const w = volumeWorld();
  const attaching = attachDetachController();
  pod(w, "web", "n1");
  await w.reconcile(attaching, node(w));
  const found = w.get(VolumeAttachment, { name: nameOn("n1") })!;
  w.have(VolumeAttachment, { ...found, status: { attached: false, attachError: { message: "no such disk" } } });
  await w.reconcile(attaching, node(w));
  assert.deepEqual(w.events(), [
    'Warning FailedAttachVolume AttachVolume.Attach failed for volume "disk" : no such disk',
  ]);
});
