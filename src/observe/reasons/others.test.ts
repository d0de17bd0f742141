import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "#api/coordination/v1/lease.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { began, eventThat, lately, made, nodeThat, now } from "../testing.ts";
import { type ClaimFacts, claimReason } from "./claim.ts";
import { namespaceReason } from "./namespace.ts";
import { type NodeFacts, nodeReason } from "./node.ts";
import { otherReason } from "./other.ts";

const claimThat = (
  spec: object,
  rest: Partial<ClaimFacts> = {},
  status: object = {},
  metadata: object = {},
): ClaimFacts => ({
  claim: made(PersistentVolumeClaim, {
    metadata: { name: "data", namespace: "default", uid: "c1", creationTimestamp: began, ...metadata },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "2Gi" } }, ...spec },
    status,
  }),
  classes: [],
  volumes: [],
  users: [],
  events: [],
  deletedBy: undefined,
  now,
  ...rest,
});
const classThat = (
  provisioner: string,
  volumeBindingMode: StorageClass["volumeBindingMode"] = "Immediate",
  isDefault = false,
) =>
  made(StorageClass, {
    metadata: {
      name: "fast",
      annotations: isDefault ? { "storageclass.kubernetes.io/is-default-class": "true" } : {},
    },
    provisioner,
    volumeBindingMode,
  });
const byHand = "kubernetes.io/no-provisioner";

const claims: Readonly<Record<string, readonly [ClaimFacts, string, string, RegExp]>> = {
  bound: [
    claimThat({ volumeName: "pv-1" }, { users: ["web-0"] }, { phase: "Bound" }),
    "Bound",
    "fine",
    /is bound to the volume pv-1, and used by web-0/,
  ],
  lost: [claimThat({ volumeName: "pv-1" }, {}, { phase: "Lost" }), "Lost", "wrong", /which is gone/],
  "no class": [claimThat({}), "NoStorageClass", "wrong", /has no default one/],
  "a class that does not exist": [
    claimThat({ storageClassName: "slow" }, { classes: [classThat(byHand)] }),
    "UnknownStorageClass",
    "wrong",
    /storage class slow, which does not exist/,
  ],
  "no pod yet": [
    claimThat({ storageClassName: "fast" }, { classes: [classThat("csi.example", "WaitForFirstConsumer")] }),
    "WaitsForConsumer",
    "fine",
    /waits for a pod that uses it/,
  ],
  "a provisioner that fails": [
    claimThat(
      { storageClassName: "fast" },
      { classes: [classThat("csi.example")], events: [eventThat("ProvisioningFailed", "no space")] },
    ),
    "ProvisioningFailed",
    "wrong",
    /csi\.example fails to make/,
  ],
  "a provisioner that is silent": [
    claimThat({ storageClassName: "fast" }, { classes: [classThat("csi.example")] }),
    "Provisioning",
    "wrong",
    /waits for the provisioner csi\.example/,
  ],
  "no volume that fits": [
    claimThat({ storageClassName: "fast" }, { classes: [classThat(byHand)] }),
    "NoVolume",
    "wrong",
    /none of those that are there does/,
  ],
  "a volume by name": [claimThat({ volumeName: "pv-9" }), "WantsVolume", "wrong", /waits for the volume pv-9/],
  "deleted, and in use": [
    claimThat(
      {},
      { users: ["web-0"] },
      {},
      { deletionTimestamp: lately, finalizers: ["kubernetes.io/pvc-protection"] },
    ),
    "FinalizersRemain",
    "wrong",
    /waits for its finalizer kubernetes\.io\/pvc-protection/,
  ],
};
for (const [name, [facts, code, state, says]] of Object.entries(claims))
  test(`why knows what a claim waits for: ${name}`, () => {
    const reason = claimReason(facts);
    assert.match(reason.says, says);
    assert.deepEqual([reason.code, reason.state], [code, state]);
  });

test("why says why each volume is not taken", () => {
  const volume = (name: string, spec: object) =>
    made(PersistentVolume, {
      metadata: { name },
      spec: { capacity: { storage: "2Gi" }, accessModes: ["ReadWriteOnce"], storageClassName: "fast", ...spec },
    });
  const { evidence } = claimReason(
    claimThat(
      { storageClassName: "fast" },
      {
        classes: [classThat(byHand)],
        volumes: [
          volume("small", { capacity: { storage: "1Gi" } }),
          volume("shared", { accessModes: ["ReadOnlyMany"] }),
          volume("taken", { claimRef: { namespace: "default", name: "other", uid: "c2" } }),
          volume("elsewhere", { storageClassName: "slow" }),
        ],
      },
    ),
  );
  assert.deepEqual(evidence, [
    { from: "volume small", says: "has 1Gi, not 2Gi" },
    { from: "volume shared", says: "cannot be used as ReadWriteOnce" },
    { from: "volume taken", says: "belongs to default/other" },
  ]);
});

const lease = made(Lease, { metadata: { name: "n1" }, spec: { renewTime: "2026-01-01T00:08:00.000000Z" } });
const nodeWith = (node: Node): NodeFacts => ({ node, lease, events: [], pods: 2 });

test("why knows how a node is doing", () => {
  const pressed = made(Node, {
    metadata: { name: "n1" },
    status: {
      conditions: [
        { type: "Ready", status: "True" },
        { type: "DiskPressure", status: "True", reason: "KubeletHasDiskPressure" },
      ],
    },
  });
  const cordoned = made(Node, {
    metadata: { name: "n1" },
    spec: { unschedulable: true },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  });
  const tainted = made(Node, {
    metadata: { name: "n1" },
    spec: {
      taints: [
        { key: "gpu", value: "yes", effect: "NoSchedule" },
        { key: "soft", effect: "PreferNoSchedule" },
      ],
    },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  });
  const table: readonly (readonly [Node, string, string])[] = [
    [nodeThat("True"), "Ready", "fine"],
    [nodeThat("Unknown", "Kubelet stopped posting node status."), "NodeSilent", "wrong"],
    [nodeThat("False", "container runtime network not ready: cni plugin not initialized"), "NodeNotReady", "wrong"],
    [made(Node, { metadata: { name: "n1" } }), "NeverReady", "wrong"],
    [pressed, "DiskPressure", "wrong"],
    [cordoned, "Cordoned", "fine"],
    [tainted, "Tainted", "fine"],
  ];
  assert.match(nodeReason(nodeWith(tainted)).says, /but takes only pods that tolerate gpu=yes:NoSchedule$/);
  assert.deepEqual(nodeReason(nodeWith(tainted)).remedies, ["kubectl taint nodes n1 gpu=yes:NoSchedule-"]);
  for (const [node, code, state] of table) {
    const reason = nodeReason(nodeWith(node));
    assert.deepEqual([reason.code, reason.state], [code, state]);
  }
  const silent = nodeReason(nodeWith(nodeThat("Unknown", "stopped posting")));
  assert.match(silent.says, /does not answer: its kubelet has stopped reporting, and 2 pods on it are unknown/);
  assert.deepEqual(silent.evidence?.at(-1), {
    from: "lease",
    says: "last heartbeat",
    at: "2026-01-01T00:08:00.000000Z",
  });
});

test("why knows what keeps a namespace", () => {
  const namespace = (metadata: object, conditions: readonly object[] = []) =>
    made(Namespace, {
      metadata: { name: "shop", creationTimestamp: began, ...metadata },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active", conditions: conditions as never },
    });
  assert.equal(namespaceReason({ namespace: namespace({}), now }).state, "fine");
  assert.equal(namespaceReason({ namespace: namespace({ deletionTimestamp: lately }), now }).state, "underway");
  const stuck = namespaceReason({
    namespace: namespace({ deletionTimestamp: began }, [
      {
        type: "NamespaceFinalizersRemaining",
        status: "True",
        reason: "SomeFinalizersRemain",
        message: "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
      },
      { type: "NamespaceDeletionContentFailure", status: "False", reason: "ContentDeleted", message: "all well" },
    ]),
    now,
  });
  assert.deepEqual([stuck.state, stuck.says], ["wrong", "is being deleted, and not empty yet"]);
  assert.deepEqual(
    stuck.evidence?.map(({ from }) => from),
    ["condition NamespaceFinalizersRemaining", "finalizer kubernetes"],
  );
  const held = { type: "NamespaceFinalizersRemaining", status: "True" };
  const lateBy = (seconds: number, conditions: readonly object[]) =>
    namespaceReason({
      namespace: namespace({ deletionTimestamp: began }, conditions),
      now: Date.parse(began) + seconds * 1000,
    }).state;
  assert.deepEqual([lateBy(5, [held]), lateBy(20, [held]), lateBy(20, [])], ["underway", "wrong", "underway"]);
  assert.equal(stuck.remedies?.[0], "see whether the controllers run that take these finalizers off");
});

test("why says of other kinds what their conditions and events say", () => {
  const other = (rest: object) =>
    otherReason({ kind: "Widget", metadata: { name: "w" }, conditions: [], events: [], deletedBy: undefined, ...rest });
  assert.deepEqual([other({}).code, other({}).state], ["Present", "fine"]);
  const unwell = other({ conditions: [{ type: "Ready", status: "False", reason: "NoDisk", message: "no disk" }] });
  assert.deepEqual([unwell.code, unwell.says], ["NoDisk", "is not well: Ready is False"]);
  assert.equal(other({ conditions: [{ type: "Degraded", status: "True" }] }).state, "wrong");
  assert.equal(other({ conditions: [{ type: "Degraded", status: "False" }] }).state, "fine");
  assert.equal(other({ events: [eventThat("Odd", "x")] }).code, "Odd");
  const held = other({ metadata: { name: "w", deletionTimestamp: began, finalizers: ["hold"] } });
  assert.equal(held.says, "is deleted, and waits for its finalizer hold");
  assert.deepEqual(held.evidence, [{ from: "finalizer hold", says: "is taken off by whoever put it there" }]);
});
