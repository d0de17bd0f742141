import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, defaulted, ruleTests, updateTests } from "../../testing/rules.ts";
import { CSIDriver } from "./csi-driver.ts";
import { CSINode } from "./csi-node.ts";
import { CSIStorageCapacity } from "./csi-storage-capacity.ts";
import { StorageClass } from "./storage-class.ts";
import { VolumeAttachment } from "./volume-attachment.ts";
import { VolumeAttributesClass } from "./volume-attributes-class.ts";

test("a storage class and a driver get their defaults", () => {
  const { reclaimPolicy, volumeBindingMode } = defaulted(StorageClass, { provisioner: "acme.io/disk" });
  assert.deepEqual({ reclaimPolicy, volumeBindingMode }, { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" });
  assert.deepEqual(defaulted(CSIDriver, { spec: {} }).spec, {
    attachRequired: true,
    podInfoOnMount: false,
    volumeLifecycleModes: ["Persistent"],
    storageCapacity: false,
    fsGroupPolicy: "ReadWriteOnceWithFSType",
    requiresRepublish: false,
    seLinuxMount: false,
  });
});

const storageClass = { provisioner: "acme.io/disk", parameters: { type: "fast" } };
ruleTests(StorageClass, storageClass, {
  "no provisioner": [{ provisioner: "" }, "provisioner: Required value"],
  "a parameter without a name": [{ parameters: { "": "x" } }, 'parameters: Invalid value: "": field can not be empty.'],
  recycling: [
    { reclaimPolicy: "Recycle" },
    'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
  ],
  "an unknown binding mode": [
    { volumeBindingMode: "Later" },
    'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
  ],
  "a provisioner in capitals": [
    { provisioner: "Bad_Value!" },
    "provisioner: Invalid value: \"bad_value!\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  "a policy that says nothing": [{ reclaimPolicy: "" }],
  "a binding mode that says nothing": [
    { volumeBindingMode: "" },
    'volumeBindingMode: Unsupported value: "": supported values: "Immediate", "WaitForFirstConsumer"',
  ],
  "topologies without expressions, which equal each other and the two that upstream compares them with": [
    { allowedTopologies: [{}, {}] },
    ...[0, 0, 1, 1, 1].map((i) => `allowedTopologies[${i}].matchLabelExpressions: Duplicate value: ""`),
  ],
  "an expression without values, which is one problem": [
    { allowedTopologies: [{ matchLabelExpressions: [{ key: "zone", values: [] }] }] },
    "allowedTopologies[0].matchLabelExpressions[0].values: Required value",
  ],
  "the same topology twice": [
    { allowedTopologies: [1, 2].map(() => ({ matchLabelExpressions: [{ key: "zone", values: ["a"] }] })) },
    'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
  ],
});
updateTests(StorageClass, storageClass, {
  "other parameters": [
    { parameters: { type: "slow" } },
    'parameters: Invalid value: {"type":"slow"}: field is immutable',
  ],
  "a policy that there is not": [
    { reclaimPolicy: "Recycle" },
    'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
    'reclaimPolicy: Invalid value: "Recycle": field is immutable',
  ],
  "another policy": [{ reclaimPolicy: "Retain" }, 'reclaimPolicy: Invalid value: "Retain": field is immutable'],
  "growing volumes": [{ allowVolumeExpansion: true }],
});

const attributes = { driverName: "acme.io", parameters: { iops: "1" } };
ruleTests(VolumeAttributesClass, attributes, {
  "no parameters": [{ parameters: {} }, "parameters: Required value: must contain at least one key/value pair"],
});
updateTests(VolumeAttributesClass, attributes, {
  "another driver": [{ driverName: "other.io" }, "driverName: Forbidden: updates to driverName are forbidden."],
  "other parameters": [{ parameters: { iops: "2" } }, "parameters: Forbidden: updates to parameters are forbidden."],
});

const driver = { spec: { tokenRequests: [{ audience: "a", expirationSeconds: 600 }] } };
ruleTests(CSIDriver, driver, {
  "a short token": [
    { "spec.tokenRequests.0.expirationSeconds": 599 },
    "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
  ],
  "an audience twice": [
    { "spec.tokenRequests": [{ audience: "a" }, { audience: "a" }] },
    'spec.tokenRequests[1].audience: Duplicate value: "a"',
  ],
  "an unknown mode": [
    { "spec.volumeLifecycleModes": ["Eternal"] },
    'spec.volumeLifecycleModes: Unsupported value: "Eternal": supported values: "Persistent", "Ephemeral"',
  ],
  "an unknown group policy": [
    { "spec.fsGroupPolicy": "Some" },
    'spec.fsGroupPolicy: Unsupported value: "Some": supported values: "File", "None", "ReadWriteOnceWithFSType"',
  ],
  "asking too often": [
    { "spec.nodeAllocatableUpdatePeriodSeconds": 9 },
    "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds",
  ],
});
updateTests(CSIDriver, driver, {
  "no attaching any more": [
    { "spec.attachRequired": false },
    "spec.attachedRequired: Invalid value: false: field is immutable",
  ],
});

const node = {
  spec: { drivers: [{ name: "acme.io", nodeID: "n1", topologyKeys: ["zone"], allocatable: { count: 1 } }] },
};
ruleTests(CSINode, node, {
  "a driver twice": [
    { "spec.drivers": [1, 2].map(() => ({ name: "a.io", nodeID: "n" })) },
    'spec.drivers[1].name: Duplicate value: "a.io"',
  ],
  "no id": [{ "spec.drivers.0.nodeID": "" }, "spec.drivers[0].nodeID: Required value"],
  "a key twice": [{ "spec.drivers.0.topologyKeys": ["a", "a"] }, 'spec.drivers[0]: Duplicate value: "a"'],
});
updateTests(CSINode, node, {
  "more volumes": [{ "spec.drivers.0.allocatable.count": 2 }],
  "another id": [
    { "spec.drivers.0.nodeID": "n2" },
    'spec.drivers: Invalid value: {"Name":"acme.io","NodeID":"n2","TopologyKeys":["zone"],"Allocatable":null}: field is immutable',
  ],
});

ruleTests(
  CSIStorageCapacity,
  { storageClassName: "fast", capacity: "1Gi" },
  {
    "less than nothing": [{ capacity: "-1" }, 'capacity: Invalid value: "-1": must be greater than or equal to 0'],
  },
);

const attachment = { spec: { attacher: "acme.io", nodeName: "n1", source: { persistentVolumeName: "pv" } } };
ruleTests(VolumeAttachment, attachment, {
  "no attacher": [{ "spec.attacher": "" }, "spec.attacher: Required value"],
  "nothing to attach": [
    { "spec.source": {} },
    "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
  ],
});
updateTests(VolumeAttachment, attachment, {
  "another node": [
    { "spec.nodeName": "n2" },
    'spec: Invalid value: {"Attacher":"acme.io","Source":{"PersistentVolumeName":"pv","InlineVolumeSpec":null},"NodeName":"n2"}: field is immutable',
  ],
});

test("rows of storage", () => {
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  assert.deepEqual(cellsOf(StorageClass, { ...storageClass, metadata: { annotations } }), [
    "example (default)",
    "acme.io/disk",
    "Delete",
    "Immediate",
    false,
    "60s",
  ]);
  assert.deepEqual(cellsOf(CSIDriver, driver), ["example", true, false, false, "a", false, "Persistent", "60s"]);
  assert.deepEqual(cellsOf(CSINode, node), ["example", 1, "60s"]);
  assert.deepEqual(cellsOf(VolumeAttachment, attachment), ["example", "acme.io", "pv", "n1", false, "60s"]);
});
