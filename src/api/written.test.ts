import assert from "node:assert/strict";
import { test } from "node:test";
import { asWritten } from "#schema/written.ts";
import { catalog } from "./catalog.ts";

/** Found by kind, since several versions have the same ones. */
const written = <T extends object>(kind: string, object: T): T => {
  const found = catalog.find((one) => one.kind === kind && !one.convert);
  assert.ok(found, kind);
  return asWritten(found, object);
};

test("conditions of every kind are written with the times that Go writes as null", () => {
  const expected: Readonly<Record<string, readonly string[]>> = {
    Pod: ["lastProbeTime", "lastTransitionTime"],
    PersistentVolumeClaim: ["lastProbeTime", "lastTransitionTime"],
    Job: ["lastProbeTime", "lastTransitionTime"],
    Node: ["lastHeartbeatTime", "lastTransitionTime"],
    Deployment: ["lastTransitionTime", "lastUpdateTime"],
    CertificateSigningRequest: ["lastTransitionTime", "lastUpdateTime"],
    ...Object.fromEntries(
      [
        ...["ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Namespace", "HorizontalPodAutoscaler"],
        ...["PodDisruptionBudget", "Service", "APIService", "CustomResourceDefinition", "FlowSchema"],
        ...["PriorityLevelConfiguration", "ServiceCIDR"],
      ].map((kind) => [kind, ["lastTransitionTime"]]),
    ),
  };
  for (const [kind, times] of Object.entries(expected)) {
    const { status } = written(kind, { status: { conditions: [{ type: "A", status: "True" }] } });
    const nulls = Object.entries(status.conditions[0] ?? {}).filter(([, value]) => value === null);
    assert.deepEqual(nulls.map(([name]) => name).toSorted(), times, kind);
  }
});

test("lists that Go always writes are null when they are empty", () => {
  const table: readonly (readonly [string, object, object])[] = [
    ["ClusterRole", { rules: [] }, { rules: null }],
    ["LimitRange", { spec: { limits: [] } }, { spec: { limits: null } }],
    ["EndpointSlice", { endpoints: [], ports: [] }, { endpoints: null, ports: null }],
    ["CSINode", { spec: { drivers: [] } }, { spec: { drivers: null } }],
    ["HorizontalPodAutoscaler", { status: { currentMetrics: [] } }, { status: { currentMetrics: null } }],
    [
      "Pod",
      { spec: { containers: [{}], volumes: [{ projected: { sources: [] } }] } },
      { spec: { containers: [{}], volumes: [{ projected: { sources: null } }] } },
    ],
  ];
  for (const [kind, held, expected] of table) assert.deepEqual(written(kind, held), expected, kind);
});

test("an object is created without a creation time, not with null", () => {
  assert.deepEqual(written("ConfigMap", { metadata: { name: "a" } }), { metadata: { name: "a" } });
});
