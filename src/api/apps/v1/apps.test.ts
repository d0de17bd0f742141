import assert from "node:assert/strict";
import { test } from "node:test";
import { trackUpdate } from "#schema/apply/apply.ts";
import { changed, defaulted, podTemplate, problemsOf, statusProblemsOf } from "../../testing/rules.ts";
import { ControllerRevision } from "./controller-revision.ts";
import { DaemonSet } from "./daemon-set.ts";
import { Deployment } from "./deployment.ts";
import { ReplicaSet } from "./replica-set.ts";
import { StatefulSet } from "./stateful-set.ts";

const workload = { spec: { selector: { matchLabels: { app: "web" } }, template: podTemplate } };
const kinds = { Deployment, ReplicaSet, DaemonSet, StatefulSet };

for (const [name, kind] of Object.entries(kinds)) {
  test(`a plain ${name} is valid, and stays so on update`, () => {
    assert.deepEqual(problemsOf(kind, workload), []);
    assert.deepEqual(problemsOf(kind, workload, workload), []);
  });

  test(`a ${name} selects its own template, with a selector that is not empty`, () => {
    const words = name === "ReplicaSet" ? "deployment" : name.toLowerCase();
    assert.deepEqual(problemsOf(kind, changed(workload, { "spec.selector": {} })), [
      `spec.selector: Invalid value: {}: empty selector is invalid for ${words}`,
    ]);
    assert.deepEqual(problemsOf(kind, changed(workload, { "spec.selector": { matchLabels: { app: "db" } } })), [
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ]);
  });

  test(`the pods of a ${name} run for ever`, () => {
    const owner = name === "Deployment" ? "ReplicaSet" : name;
    const short = changed(workload, {
      "spec.template.spec.restartPolicy": "Never",
      "spec.template.spec.activeDeadlineSeconds": 5,
    });
    assert.deepEqual(problemsOf(kind, short), [
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      `spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ${owner} is not Supported`,
    ]);
  });
}

test("a deployment without a strategy rolls a quarter at a time", () => {
  const { spec } = defaulted(Deployment, workload) as { spec: Record<string, unknown> };
  assert.deepEqual(spec.strategy, { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } });
  assert.equal(spec.replicas, 1);
  assert.equal(spec.revisionHistoryLimit, 10);
  assert.equal(spec.progressDeadlineSeconds, 600);
  assert.deepEqual(problemsOf(Deployment, changed(workload, { "spec.strategy": { type: "Recreate" } })), []);
});

const deploymentRules: readonly [string, Record<string, unknown>, readonly string[]][] = [
  [
    "negative replicas",
    { "spec.replicas": -1 },
    ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
  ],
  [
    "rolling parameters of a recreation",
    { "spec.strategy": { type: "Recreate", rollingUpdate: {} } },
    ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
  ],
  [
    "an unknown strategy",
    { "spec.strategy": { type: "Bang" } },
    ['spec.strategy: Unsupported value: {"type":"Bang"}: supported values: "Recreate", "RollingUpdate"'],
  ],
  [
    "an update that may not move",
    { "spec.strategy": { rollingUpdate: { maxUnavailable: 0, maxSurge: "0%" } } },
    ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
  ],
  [
    "more than all pods unavailable",
    { "spec.strategy": { rollingUpdate: { maxUnavailable: "101%" } } },
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
  ],
  [
    "text that is no percentage",
    { "spec.strategy": { rollingUpdate: { maxSurge: "few" } } },
    [
      "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"few\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ],
  ],
  [
    "a deadline before pods can be available",
    { "spec.minReadySeconds": 600 },
    ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
  ],
];
for (const [what, change, problems] of deploymentRules)
  test(`a deployment refuses ${what}`, () =>
    assert.deepEqual(problemsOf(Deployment, changed(workload, change)), problems));

test("the selector of a deployment cannot change", () => {
  const other = changed(workload, {
    "spec.selector": { matchLabels: { app: "db" } },
    "spec.template.metadata.labels": { app: "db" },
  });
  assert.deepEqual(problemsOf(Deployment, other, workload), [
    'spec.selector: Invalid value: {"matchLabels":{"app":"db"}}: field is immutable',
  ]);
});

test("the counts of a deployment's status agree with each other", () => {
  const status = (of: Record<string, unknown>) => ({ ...workload, status: of });
  assert.deepEqual(
    statusProblemsOf(
      Deployment,
      status({ replicas: 1, updatedReplicas: 2, availableReplicas: 1, collisionCount: 1 }),
      status({ collisionCount: 2 }),
    ),
    [
      "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
      "status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas",
      "status.collisionCount: Invalid value: 1: cannot be decremented",
    ],
  );
});

test("a daemon set surges or is unavailable, but not both", () => {
  const rolling = (maxUnavailable: unknown, maxSurge: unknown) =>
    changed(workload, { "spec.updateStrategy": { rollingUpdate: { maxUnavailable, maxSurge } } });
  assert.deepEqual((defaulted(DaemonSet, workload) as { spec: Record<string, unknown> }).spec.updateStrategy, {
    type: "RollingUpdate",
    rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
  });
  assert.deepEqual(problemsOf(DaemonSet, rolling(1, "10%")), [
    'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "10%": may not be set when maxUnavailable is non-zero',
  ]);
  assert.deepEqual(problemsOf(DaemonSet, rolling(0, 0)), [
    "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
  ]);
  assert.deepEqual(problemsOf(DaemonSet, changed(workload, { "spec.updateStrategy": { type: "Never" } })), [
    'spec.updateStrategy: Unsupported value: {"type":"Never"}: supported values: "RollingUpdate", "OnDelete"',
  ]);
});

const claim = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

test("a stateful set gets a partition only where it says nothing about updates", () => {
  const strategy = (given?: unknown) =>
    (defaulted(StatefulSet, changed(workload, { "spec.updateStrategy": given })) as { spec: Record<string, unknown> })
      .spec.updateStrategy;
  assert.deepEqual(strategy(), { type: "RollingUpdate", rollingUpdate: { partition: 0 } });
  assert.deepEqual(strategy({ type: "RollingUpdate" }), { type: "RollingUpdate" });
  assert.deepEqual(strategy({ type: "OnDelete" }), { type: "OnDelete" });
});

test("the claims of a stateful set say what they are, and are volumes of its pods", () => {
  const mounted = changed(workload, {
    "spec.volumeClaimTemplates": [claim],
    "spec.template.spec.containers": [
      { name: "web", image: "web:1", volumeMounts: [{ name: "data", mountPath: "/data" }] },
    ],
  });
  const { spec } = defaulted(StatefulSet, mounted) as unknown as StatefulSet;
  assert.equal(spec.volumeClaimTemplates?.[0]?.kind, "PersistentVolumeClaim");
  assert.equal(spec.volumeClaimTemplates?.[0]?.apiVersion, "v1");
  assert.deepEqual(spec.persistentVolumeClaimRetentionPolicy, { whenDeleted: "Retain", whenScaled: "Retain" });
  assert.deepEqual(problemsOf(StatefulSet, mounted), []);
});

test("a stateful set may have two claims of one name, which are one volume", () => {
  assert.deepEqual(problemsOf(StatefulSet, changed(workload, { "spec.volumeClaimTemplates": [claim, claim] })), []);
});

test("the claims of a stateful set are checked when it is made; later they cannot change, and that is all that is said", () => {
  const before = changed(workload, { "spec.volumeClaimTemplates": [claim] });
  const after = changed(workload, { "spec.volumeClaimTemplates": [{ metadata: { name: "data" }, spec: {} }] });
  assert.deepEqual(
    problemsOf(StatefulSet, after).map((problem) => problem.split(":")[0]),
    ["spec.volumeClaimTemplates[0].spec.accessModes", "spec.volumeClaimTemplates[0].spec.resources[storage]"],
  );
  assert.deepEqual(
    problemsOf(StatefulSet, after, before).map((problem) => problem.split(":")[0]),
    ["spec"],
  );
});

test("workloads tell that a selector does not match before what is wrong with the template, and a changed selector last", () => {
  const broken = { "spec.selector": { matchLabels: { app: "other" } }, "spec.template.spec.containers": [] };
  const fields = (kind: typeof Deployment | typeof ReplicaSet | typeof StatefulSet) =>
    problemsOf(kind, changed(workload, broken), workload).map((problem) => problem.split(":")[0]);
  const common = ["spec.template.metadata.labels", "spec.template.spec.containers"];
  assert.deepEqual(fields(Deployment), [...common, "spec.selector"]);
  assert.deepEqual(fields(ReplicaSet), [...common, "spec.selector"]);
  assert.deepEqual(fields(StatefulSet), [...common, "spec"]);
});

test("a daemon set without a selector is refused because it selects nothing, not because the selector is missing", () => {
  assert.deepEqual(problemsOf(DaemonSet, changed(workload, { "spec.selector": undefined })), [
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  ]);
});

const statefulSetRules: readonly [string, Record<string, unknown>, readonly string[]][] = [
  [
    "an unknown pod management",
    { "spec.podManagementPolicy": "Chaos" },
    ["spec.podManagementPolicy: Invalid value: \"Chaos\": must be 'OrderedReady' or 'Parallel'"],
  ],
  [
    "an unknown update strategy",
    { "spec.updateStrategy": { type: "Chaos" } },
    ["spec.updateStrategy: Invalid value: {\"type\":\"Chaos\"}: must be 'RollingUpdate' or 'OnDelete'"],
  ],
  [
    "a partition without rolling updates",
    { "spec.updateStrategy": { type: "OnDelete", rollingUpdate: { partition: 1 } } },
    [
      "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only allowed for updateStrategy 'RollingUpdate'",
    ],
  ],
  [
    "an unknown retention",
    { "spec.persistentVolumeClaimRetentionPolicy": { whenScaled: "Burn" } },
    [
      'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Burn": supported values: "Retain", "Delete"',
    ],
  ],
  [
    "a service name that is no label",
    { "spec.serviceName": "A" },
    [
      "spec.serviceName: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ],
  ],
  [
    "a first ordinal below zero",
    { "spec.ordinals": { start: -1 } },
    ["spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"],
  ],
];
for (const [what, change, problems] of statefulSetRules)
  test(`a stateful set refuses ${what}`, () =>
    assert.deepEqual(problemsOf(StatefulSet, changed(workload, change)), problems));

test("a stateful set may be scaled and updated, and nothing else", () => {
  const free = changed(workload, { "spec.replicas": 3, "spec.minReadySeconds": 1, "spec.ordinals": { start: 1 } });
  assert.deepEqual(problemsOf(StatefulSet, free, workload), []);
  const words =
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
  for (const change of [{ "spec.serviceName": "other" }, { "spec.podManagementPolicy": "Parallel" }])
    assert.deepEqual(problemsOf(StatefulSet, changed(workload, change), workload), [words]);
});

test("the data of a revision is there and does not change", () => {
  assert.deepEqual(problemsOf(ControllerRevision, { revision: 1 }), ["data: Required value: data is mandatory"]);
  assert.deepEqual(problemsOf(ControllerRevision, { revision: -1, data: {} }), [
    "revision: Invalid value: -1: must be greater than or equal to 0",
  ]);
  assert.deepEqual(problemsOf(ControllerRevision, { revision: 1, data: { a: 1 } }, { revision: 1, data: { a: 2 } }), [
    'data: Invalid value: {"a":1}: field is immutable',
  ]);
});

test("the state in a controller revision is owned as a whole by who writes it", () => {
  const updated = defaulted(ControllerRevision, { metadata: { name: "r" }, data: { a: { b: 1 } }, revision: 1 });
  const [owner] = trackUpdate({ kind: ControllerRevision, live: undefined, updated, manager: "m", now: 0 } as never);
  assert.deepEqual((owner as { fieldsV1: object }).fieldsV1, { "f:data": {}, "f:revision": {} });
});
