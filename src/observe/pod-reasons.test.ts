import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft, Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type PodFacts, reasonFor } from "./pod-reasons.ts";

function made<K extends AnyKind>(kind: K, draft: Draft<Infer<K>>): Infer<K> {
  const { object } = decodeValue(kind, structuredClone({ apiVersion: kind.apiVersion, kind: kind.kind, ...draft }));
  applyDefaults(kind, object);
  return object as Infer<K>;
}

const now = Date.parse("2026-01-01T00:10:00Z");
const readyNode = made(Node, {
  metadata: { name: "n1" },
  status: { conditions: [{ type: "Ready", status: "True" }] },
});

function situation(pod: Record<string, Record<string, unknown>>, rest: Partial<PodFacts> = {}): PodFacts {
  const { metadata = {}, spec = {}, status = {} } = pod;
  return {
    pod: made(Pod, {
      metadata: { name: "web", namespace: "default", ...metadata },
      spec: { containers: [{ name: "main", image: "nginx" }], ...spec },
      status,
    }),
    events: [],
    node: spec.nodeName ? readyNode : undefined,
    claims: new Map(),
    verdicts: [],
    now,
    ...rest,
  };
}

const waiting = (reason: string, rest = {}) => ({
  phase: "Pending",
  containerStatuses: [
    {
      name: "main",
      image: "nginx:none",
      imageID: "",
      ready: false,
      restartCount: 7,
      state: { waiting: { reason } },
      ...rest,
    },
  ],
});
const unhealthy = made(Event, {
  metadata: { name: "e", namespace: "default" },
  involvedObject: {},
  type: "Warning",
  reason: "Unhealthy",
  message: "Readiness probe failed: 503",
});

const cases: readonly (readonly [string, PodFacts, RegExp])[] = [
  [
    "gated",
    situation({ spec: { schedulingGates: [{ name: "quota.example" }] }, status: { phase: "Pending" } }),
    /scheduling gates quota\.example/,
  ],
  ["no scheduler", situation({ spec: { schedulerName: "mine" }, status: { phase: "Pending" } }), /not been looked at/],
  [
    "unschedulable",
    situation({
      status: {
        phase: "Pending",
        conditions: [
          {
            type: "PodScheduled",
            status: "False",
            reason: "Unschedulable",
            message: "0/1 nodes are available: 1 Insufficient cpu.",
          },
        ],
      },
    }),
    /none can at present/,
  ],
  [
    "image",
    situation({ spec: { nodeName: "n1" }, status: waiting("ImagePullBackOff") }),
    /main has an image that cannot be pulled/,
  ],
  [
    "crash loop",
    situation({
      spec: { nodeName: "n1" },
      status: { ...waiting("CrashLoopBackOff", { lastState: { terminated: { exitCode: 3 } } }), phase: "Running" },
    }),
    /keeps failing: its container main ended with exit code 3, and was restarted 7 times/,
  ],
  [
    "out of memory",
    situation({
      spec: { nodeName: "n1" },
      status: {
        ...waiting("CrashLoopBackOff", { lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } } }),
        phase: "Running",
      },
    }),
    /more memory than it may/,
  ],
  [
    "node gone",
    situation({ spec: { nodeName: "n2" }, status: { phase: "Running" } }, { node: undefined }),
    /n2, which does not answer/,
  ],
  ["starting", situation({ spec: { nodeName: "n1" }, status: waiting("ContainerCreating") }), /is being started on n1/],
  [
    "probe",
    situation(
      { spec: { nodeName: "n1" }, status: { phase: "Running", conditions: [{ type: "Ready", status: "False" }] } },
      { events: [unhealthy] },
    ),
    /runs, but is not ready/,
  ],
  [
    "well",
    situation({
      spec: { nodeName: "n1" },
      status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
    }),
    /runs on n1, and is ready/,
  ],
  ["done", situation({ spec: { nodeName: "n1" }, status: { phase: "Succeeded" } }), /has done its work/],
  [
    "evicted",
    situation({ spec: { nodeName: "n1" }, status: { phase: "Failed", reason: "Evicted", message: "low on memory" } }),
    /has failed: Evicted/,
  ],
  [
    "finalizers",
    situation({
      metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/hold"] },
      spec: { nodeName: "n1" },
      status: { phase: "Running" },
    }),
    /waits for whoever put these finalizers on it: example\.com\/hold/,
  ],
  [
    "grace",
    situation({
      metadata: { deletionTimestamp: "2026-01-01T00:10:20Z", deletionGracePeriodSeconds: 30 },
      spec: { nodeName: "n1" },
      status: { phase: "Running" },
    }),
    /have 20 of 30 s left to end/,
  ],
];

for (const [name, facts, expected] of cases)
  test(`why knows a pod's situation: ${name}`, () => assert.match(reasonFor(facts).says, expected));

test("why says what helps against each reason the scheduler gives", () => {
  const message =
    "0/3 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint {gpu: yes}, 1 node(s) were unschedulable.";
  const { remedies = [] } = reasonFor(
    situation(
      { status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message }] } },
      { claims: new Map([["data", undefined]]) },
    ),
  );
  assert.deepEqual(remedies, [
    "create the PersistentVolumeClaim data it mounts",
    "ask for less of memory, free some, or add nodes that have more",
    "tolerate the taint gpu in the pod, or take it from a node",
    "kubectl uncordon the nodes that should take pods again",
  ]);
});

test("why names the nodes of one verdict together", () => {
  const verdicts = ["a", "b", "c", "d", "e", "f", "g"].map((node) => ({
    node,
    plugin: "NodeResourcesFit",
    reason: "Insufficient cpu",
  }));
  const { details = [] } = reasonFor(
    situation(
      { status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message: "no" }] } },
      { verdicts },
    ),
  );
  assert.deepEqual(details, ["no", "a, b, c, d, e and 2 more: NodeResourcesFit: Insufficient cpu"]);
});
