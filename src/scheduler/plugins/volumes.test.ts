import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { CSINode } from "#api/storage/v1/csi-node.ts";
import { CSIStorageCapacity } from "#api/storage/v1/csi-storage-capacity.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import type { Draft } from "#schema/infer.ts";
import { Scenario } from "../testing/scenario.ts";

const driver = "csi.example.com";
const namespace = "default";
const bound = { "pv.kubernetes.io/bind-completed": "yes" };

const mounting = (...claims: string[]): Draft<Pod> => ({
  spec: { volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })) },
});
const claim = (scenario: Scenario, name: string, spec: Draft<PersistentVolumeClaim["spec"]> = {}, annotations = {}) =>
  scenario.have(PersistentVolumeClaim, {
    metadata: { name, namespace, annotations },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      storageClassName: "fast",
      ...spec,
    },
  });
const volume = (scenario: Scenario, name: string, more: Draft<PersistentVolume> = {}) =>
  scenario.have(PersistentVolume, {
    metadata: { name, ...more.metadata },
    spec: { capacity: { storage: "2Gi" }, accessModes: ["ReadWriteOnce"], storageClassName: "fast", ...more.spec },
    status: { phase: "Available", ...more.status },
  });
const waiting = (scenario: Scenario, more: Draft<StorageClass> = {}) =>
  scenario.have(StorageClass, {
    metadata: { name: "fast" },
    provisioner: driver,
    volumeBindingMode: "WaitForFirstConsumer",
    ...more,
  });
const onNode = (name: string): Draft<PersistentVolume["spec"]> => ({
  nodeAffinity: {
    required: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [name] }] }],
    },
  },
});

/** What each of the nodes a and b is refused for. */
function refusals(prepare: (scenario: Scenario) => void, pod = mounting("data")) {
  const scenario = new Scenario();
  for (const name of ["a", "b"]) scenario.node(name);
  prepare(scenario);
  const { a = [], b = [] } = scenario.refusals(scenario.pod(pod));
  return { a: a.join(), b: b.join() };
}

const unreachable = "node(s) didn't match PersistentVolume's node affinity";
const noneToBind = "node(s) didn't find available persistent volumes to bind";
const tooFull = "node(s) did not have enough free storage";

const choices: readonly [string, (scenario: Scenario) => void, string, string][] = [
  [
    "a volume that is bound, where it can be reached",
    (s) => {
      claim(s, "data", { volumeName: "disk" }, bound);
      volume(s, "disk", { spec: onNode("a") });
    },
    "",
    unreachable,
  ],
  [
    "a volume that is gone",
    (s) => claim(s, "data", { volumeName: "disk" }, bound),
    'persistentvolume "disk" not found',
    'persistentvolume "disk" not found',
  ],
  [
    "a volume that is there",
    (s) => {
      waiting(s, { provisioner: "kubernetes.io/no-provisioner" });
      claim(s, "data");
      volume(s, "disk", { spec: onNode("b") });
    },
    noneToBind,
    "",
  ],
  [
    "a volume that is too small",
    (s) => {
      waiting(s, { provisioner: "kubernetes.io/no-provisioner" });
      claim(s, "data", { resources: { requests: { storage: "5Gi" } } });
      volume(s, "disk");
    },
    noneToBind,
    noneToBind,
  ],
  [
    "a volume of another claim",
    (s) => {
      waiting(s, { provisioner: "kubernetes.io/no-provisioner" });
      claim(s, "data");
      volume(s, "disk", { spec: { claimRef: { namespace, name: "other" } } });
    },
    noneToBind,
    noneToBind,
  ],
  [
    "a volume that was kept for it",
    (s) => {
      waiting(s, { provisioner: "kubernetes.io/no-provisioner" });
      claim(s, "data");
      volume(s, "disk", { spec: { ...onNode("a"), claimRef: { namespace, name: "data" } } });
    },
    "",
    noneToBind,
  ],
  [
    "a volume it does not select",
    (s) => {
      waiting(s, { provisioner: "kubernetes.io/no-provisioner" });
      claim(s, "data", { selector: { matchLabels: { kind: "ssd" } } });
      volume(s, "disk");
    },
    noneToBind,
    noneToBind,
  ],
  [
    "a volume that has to be made",
    (s) => {
      waiting(s);
      claim(s, "data");
    },
    "",
    "",
  ],
  [
    "a volume that may only be made elsewhere",
    (s) => {
      waiting(s, {
        allowedTopologies: [{ matchLabelExpressions: [{ key: "kubernetes.io/hostname", values: ["b"] }] }],
      });
      claim(s, "data");
    },
    noneToBind,
    "",
  ],
  [
    "a volume that is being made for another node",
    (s) => {
      waiting(s);
      claim(s, "data", {}, { "volume.kubernetes.io/selected-node": "a" });
    },
    "",
    noneToBind,
  ],
  [
    "a volume for which there is room in one place",
    (s) => {
      waiting(s);
      claim(s, "data");
      s.have(CSIDriver, { metadata: { name: driver }, spec: { storageCapacity: true } });
      s.have(CSIStorageCapacity, {
        metadata: { name: "part", namespace },
        storageClassName: "fast",
        capacity: "10Gi",
        nodeTopology: { matchLabels: { "kubernetes.io/hostname": "b" } },
      });
    },
    tooFull,
    "",
  ],
];
for (const [name, prepare, a, b] of choices)
  test(`a pod needs ${name}`, () => {
    assert.deepEqual(refusals(prepare), { a, b });
  });

test("two claims of a pod are not given one volume", () => {
  const prepare = (s: Scenario) => {
    waiting(s, { provisioner: "kubernetes.io/no-provisioner" });
    claim(s, "one");
    claim(s, "two", { resources: { requests: { storage: "1500Mi" } } });
    volume(s, "disk");
  };
  assert.deepEqual(refusals(prepare, mounting("one", "two")), { a: noneToBind, b: noneToBind });
  const withTwo = (s: Scenario) => {
    prepare(s);
    volume(s, "smaller", { spec: { capacity: { storage: "1Gi" } } });
  };
  assert.deepEqual(refusals(withTwo, mounting("one", "two")), { a: "", b: "" });
});

test("claims that cannot be used as they are hold the pod back everywhere", () => {
  const told = (prepare: (scenario: Scenario) => void) => refusals(prepare).a;
  assert.equal(
    told(() => undefined),
    'persistentvolumeclaim "data" not found',
  );
  assert.equal(
    told((s) => claim(s, "data", { storageClassName: "none" })),
    "pod has unbound immediate PersistentVolumeClaims",
  );
  assert.equal(
    told((s) => {
      const { metadata, spec } = claim(s, "data", { volumeName: "gone" }, bound);
      s.have(PersistentVolumeClaim, { metadata, spec, status: { phase: "Lost" } });
    }),
    'persistentvolumeclaim "data" bound to non-existent persistentvolume "gone"',
  );
});

test("a pod whose volume is made for it alone is told to wait for whoever makes the claim", () => {
  const scenario = new Scenario();
  scenario.node("a");
  const volumeClaimTemplate = { spec: { accessModes: ["ReadWriteOnce" as const], resources: {} } };
  const pod = scenario.pod({
    metadata: { name: "web" },
    spec: { volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate } }] },
  });
  assert.match(
    scenario.message(pod),
    /^0\/1 nodes are available: waiting for ephemeral volume controller to create the persistentvolumeclaim "web-scratch"\./,
  );
});

test("a pod stays in the zone of its volume, where nodes have zones", () => {
  const inZone = (label: string, value: string) => {
    const scenario = new Scenario();
    scenario.node("east", { metadata: { labels: { "topology.kubernetes.io/zone": "east" } } });
    scenario.node("west", { metadata: { labels: { "topology.kubernetes.io/zone": "west" } } });
    scenario.node("nowhere");
    claim(scenario, "data", { volumeName: "disk" }, bound);
    volume(scenario, "disk", { metadata: { labels: { [label]: value } } });
    return Object.keys(scenario.refusals(scenario.pod(mounting("data"))));
  };
  assert.deepEqual(inZone("topology.kubernetes.io/zone", "east"), ["west"]);
  assert.deepEqual(inZone("topology.kubernetes.io/zone", "east__west"), []);
  assert.deepEqual(inZone("failure-domain.beta.kubernetes.io/zone", "west"), ["east"], "by its former name");
});

test("volumes of a driver are counted once, whether pods have them or they are attached for another reason", () => {
  const scenario = new Scenario();
  scenario.node("a");
  scenario.have(CSINode, {
    metadata: { name: "a" },
    spec: { drivers: [{ name: driver, nodeID: "a", topologyKeys: [], allocatable: { count: 2 } }] },
  });
  for (const name of ["one", "two", "three"]) {
    claim(scenario, name, { volumeName: name }, bound);
    volume(scenario, name, { spec: { csi: { driver, volumeHandle: name } } });
  }
  const attached = (name: string) =>
    scenario.have(VolumeAttachment, {
      metadata: { name: `attach-${name}` },
      spec: { attacher: driver, nodeName: "a", source: { persistentVolumeName: name } },
    });
  const refused = (...claims: string[]) => scenario.refusals(scenario.pod(mounting(...claims))).a ?? [];
  scenario.pod(mounting("one"), "a");
  attached("one");
  assert.deepEqual(refused("two"), []);
  assert.deepEqual(refused("two", "three"), ["node(s) exceed max volume count"]);
  attached("three");
  assert.deepEqual(refused("two"), ["node(s) exceed max volume count"]);
  assert.deepEqual(refused("one"), [], "it is there already");
});

const disks: readonly [string, object, object, boolean][] = [
  ["a disk of AWS", { awsElasticBlockStore: { volumeID: "x" } }, { awsElasticBlockStore: { volumeID: "x" } }, false],
  ["another disk", { awsElasticBlockStore: { volumeID: "x" } }, { awsElasticBlockStore: { volumeID: "y" } }, true],
  [
    "a disk of Google",
    { gcePersistentDisk: { pdName: "x" } },
    { gcePersistentDisk: { pdName: "x", readOnly: true } },
    false,
  ],
  [
    "a disk that both only read",
    { gcePersistentDisk: { pdName: "x", readOnly: true } },
    { gcePersistentDisk: { pdName: "x", readOnly: true } },
    true,
  ],
  [
    "an iSCSI target",
    { iscsi: { iqn: "x", targetPortal: "p", lun: 0 } },
    { iscsi: { iqn: "x", targetPortal: "q", lun: 0 } },
    false,
  ],
  [
    "an image of Ceph",
    { rbd: { monitors: ["a", "b"], image: "i", pool: "p" } },
    { rbd: { monitors: ["b"], image: "i", pool: "p" } },
    false,
  ],
  [
    "an image of another pool",
    { rbd: { monitors: ["a"], image: "i", pool: "p" } },
    { rbd: { monitors: ["a"], image: "i", pool: "q" } },
    true,
  ],
];
for (const [name, there, wanted, isFree] of disks)
  test(`${name} is ${isFree ? "" : "not "}given to two pods of a node`, () => {
    const scenario = new Scenario();
    scenario.node("a");
    const withDisk = (disk: object): Draft<Pod> => ({ spec: { volumes: [{ name: "v", ...disk }] } });
    scenario.pod(withDisk(there), "a");
    const expected = isFree ? {} : { a: ["node(s) had no available disk"] };
    assert.deepEqual(scenario.refusals(scenario.pod(withDisk(wanted))), expected);
  });
