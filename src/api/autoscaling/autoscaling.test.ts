import assert from "node:assert/strict";
import { test } from "node:test";
import { tableOfObject } from "#schema/table.ts";
import { changed, defaulted, problemsOf, statusProblemsOf } from "../testing/rules.ts";
import { HorizontalPodAutoscaler as V1 } from "./v1/horizontal-pod-autoscaler.ts";
import { Scale } from "./v1/scale.ts";
import { HorizontalPodAutoscaler as V2 } from "./v2/horizontal-pod-autoscaler.ts";

const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const hpa = { spec: { scaleTargetRef, maxReplicas: 5 } };
type Full = Record<string, Record<string, unknown>>;

test("an autoscaler without metrics follows the use of CPU", () => {
  const { spec } = defaulted(V2, hpa) as Full;
  assert.equal(spec?.minReplicas, 1);
  assert.deepEqual(spec?.metrics, [
    { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
  ]);
  assert.equal(spec?.behavior, undefined);
});

test("a behavior is filled up where it is silent", () => {
  const { spec } = defaulted(
    V2,
    changed(hpa, { "spec.behavior": { scaleDown: { selectPolicy: "Disabled" } } }),
  ) as Full;
  assert.deepEqual(spec?.behavior, {
    scaleUp: {
      stabilizationWindowSeconds: 0,
      selectPolicy: "Max",
      policies: [
        { type: "Pods", value: 4, periodSeconds: 15 },
        { type: "Percent", value: 100, periodSeconds: 15 },
      ],
    },
    scaleDown: { selectPolicy: "Disabled", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] },
  });
});

const metric = (of: Record<string, unknown>) => ({ "spec.metrics": [of] });
const cpu = (target: Record<string, unknown>) => metric({ type: "Resource", resource: { name: "cpu", target } });
const rules: readonly [string, Record<string, unknown>, readonly string[]][] = [
  ["nothing wrong", {}, []],
  [
    "no maximum",
    { "spec.maxReplicas": 0 },
    [
      "spec.maxReplicas: Required value: must be set and greater than 0",
      "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
    ],
  ],
  [
    "scaling to zero",
    { "spec.minReplicas": 0 },
    [
      "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
      "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
    ],
  ],
  ["no name of what to scale", { "spec.scaleTargetRef.name": "" }, ["spec.scaleTargetRef.name: Required value"]],
  [
    "a target without a group",
    { "spec.scaleTargetRef.apiVersion": "v1" },
    ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
  ],
  [
    "a replication controller",
    { "spec.scaleTargetRef": { kind: "ReplicationController", name: "rc", apiVersion: "v1" } },
    [],
  ],
  [
    "an unknown metric type",
    metric({ type: "Magic" }),
    [
      'spec.metrics[0].type: Unsupported value: "Magic": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
      'spec.metrics[0].type: Unsupported value: "Magic": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
  ],
  [
    "a metric without its source",
    metric({ type: "Pods" }),
    ["spec.metrics[0].pods: Required value: must populate information for the given metric source"],
  ],
  [
    "two sources",
    metric({
      type: "Resource",
      resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 1 } },
      pods: { metric: { name: "x" }, target: { type: "AverageValue", averageValue: "1" } },
    }),
    ["spec.metrics[0].pods: Forbidden: must populate the given metric source only"],
  ],
  [
    "no target at all",
    cpu({ type: "Utilization" }),
    [
      "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
    ],
  ],
  [
    "a target that is not positive",
    cpu({ type: "AverageValue", averageValue: "0" }),
    ['spec.metrics[0].resource.target.averageValue: Invalid value: "0": must be positive'],
  ],
  [
    "a policy that never ends",
    { "spec.behavior": { scaleUp: { policies: [{ type: "Pods", value: 0, periodSeconds: 1801 }] } } },
    [
      "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
      "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
    ],
  ],
];
for (const [what, change, problems] of rules)
  test(`an autoscaler with ${what} is ${problems.length === 0 ? "accepted" : "refused"}`, () =>
    assert.deepEqual(problemsOf(V2, changed(hpa, change)), problems));

test("counts of a status are not negative", () => {
  const status = { currentReplicas: -1, desiredReplicas: 0 };
  assert.deepEqual(statusProblemsOf(V2, { ...hpa, status }, hpa), [
    "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
  ]);
  assert.deepEqual(problemsOf(Scale, { spec: { replicas: -1 } }), [
    "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
  ]);
});

const rich = {
  metadata: { name: "web", namespace: "default", annotations: { keep: "me" } },
  spec: {
    scaleTargetRef,
    minReplicas: 1,
    maxReplicas: 5,
    metrics: [
      { type: "Pods", pods: { metric: { name: "rps" }, target: { type: "AverageValue", averageValue: "10" } } },
      {
        type: "External",
        external: {
          metric: { name: "queue", selector: { matchLabels: { q: "a" } } },
          target: { type: "Value", value: "5" },
        },
      },
      {
        type: "Object",
        object: {
          describedObject: { kind: "Ingress", name: "main", apiVersion: "networking.k8s.io/v1" },
          metric: { name: "hits" },
          target: { type: "AverageValue", averageValue: "3" },
        },
      },
      {
        type: "ContainerResource",
        containerResource: { name: "memory", container: "web", target: { type: "AverageValue", averageValue: "1Gi" } },
      },
      { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } } },
    ],
    behavior: {
      scaleUp: {
        selectPolicy: "Min",
        policies: [{ type: "Pods", value: 1, periodSeconds: 60 }],
        stabilizationWindowSeconds: 0,
      },
    },
  },
  status: {
    currentReplicas: 2,
    desiredReplicas: 3,
    currentMetrics: [
      { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 60, averageValue: "600m" } } },
    ],
    conditions: [{ type: "AbleToScale", status: "True", reason: "Ready" }],
  },
};

test("a v2 autoscaler survives the way through v1", () => {
  const stored = defaulted(V2, rich);
  const v1 = V1.convert!.fromStored(stored) as Full;
  assert.equal(v1.spec?.targetCPUUtilizationPercentage, 70);
  assert.equal(v1.status?.currentCPUUtilizationPercentage, 60);
  assert.deepEqual(Object.keys(v1.metadata?.annotations as object), [
    "keep",
    "autoscaling.alpha.kubernetes.io/metrics",
    "autoscaling.alpha.kubernetes.io/current-metrics",
    "autoscaling.alpha.kubernetes.io/behavior",
    "autoscaling.alpha.kubernetes.io/conditions",
  ]);
  assert.deepEqual(defaulted(V2, V1.convert!.toStored(v1 as never)), stored);
});

test("a v1 autoscaler survives the way through v2", () => {
  const v1 = defaulted(V1, {
    metadata: { name: "web", namespace: "default" },
    spec: { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 50 },
    status: { currentReplicas: 1, desiredReplicas: 1 },
  });
  assert.deepEqual(V1.convert!.fromStored(defaulted(V2, V1.convert!.toStored(v1 as never))), v1);
});

test("annotations that are not ours to read change nothing", () => {
  const v1 = defaulted(V1, {
    metadata: {
      annotations: {
        "autoscaling.alpha.kubernetes.io/metrics": "{nonsense",
        "autoscaling.alpha.kubernetes.io/behavior": '"x"',
      },
    },
    ...hpa,
  });
  const { metadata, spec } = V1.convert!.toStored(v1 as never) as Full;
  assert.equal(metadata?.annotations, undefined);
  assert.equal((spec!.metrics as unknown[]).length, 1);
  assert.equal(spec?.behavior, undefined);
});

test("a row shows two metrics and counts the others, in both versions", () => {
  const stored = defaulted(V2, rich);
  const cells = (kind: typeof V2 | typeof V1, object: unknown) =>
    tableOfObject(kind, object as never, { now: 0 }).rows[0]?.cells.slice(0, 6);
  const row = ["web", "Deployment/web", "<unknown>/10, <unknown>/5 + 3 more...", "1", 5, 2];
  assert.deepEqual(cells(V2, stored), row);
  const { metadata, ...one } = rich;
  const busy = defaulted(V2, { metadata, ...changed(one, { "spec.metrics": [rich.spec.metrics[4]] }) });
  assert.equal(cells(V2, busy)?.[2], "cpu: 60%/70%");
  assert.equal(cells(V1, V1.convert!.fromStored(busy))?.[2], "cpu: 60%/70%");
});
