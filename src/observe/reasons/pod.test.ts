import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { began, eventThat, lately, made, nodeThat, podRunning, podWith } from "../testing.ts";
import { podReason } from "./pod.ts";
import type { PodFacts } from "./pod-facts.ts";
import type { State } from "./reason.ts";

const waiting = (reason: string, message = "") => ({ state: { waiting: { reason, message } } });
const ended = (exitCode: number, rest = {}) => ({
  terminated: { exitCode, startedAt: began, finishedAt: lately, ...rest },
});
const crashed = (exitCode: number, rest = {}) => ({
  ...waiting("CrashLoopBackOff", "back-off 40s restarting failed container=main pod=web_default(u1)"),
  restartCount: 7,
  lastState: ended(exitCode, rest),
});
const unscheduled = (message: string) => ({
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message, lastTransitionTime: began }],
});
const notReady = {
  conditions: [{ type: "Ready", status: "False", reason: "ContainersNotReady", lastTransitionTime: began }],
};
const probed = {
  containers: [{ name: "main", image: "nginx", readinessProbe: { httpGet: { path: "/ok", port: 80 } } }],
};
const runs = { state: { running: { startedAt: began } } };
const mounts = { volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data" } }] };
const claim = made(PersistentVolumeClaim, { metadata: { name: "data", namespace: "default" }, spec: {} });
const doomed = (reason: string) => ({
  conditions: [{ type: "DisruptionTarget", status: "True", reason, message: "default-scheduler: preempting" }],
});
const deleted = (deletionTimestamp: string, finalizers: readonly string[] = []) => ({
  deletionTimestamp,
  deletionGracePeriodSeconds: 30,
  finalizers,
});

const pullFailure = eventThat("Failed", 'Failed to pull image "nginx:none": manifest unknown', { count: 3 });
const unhealthy = eventThat("Unhealthy", "Readiness probe failed: 503", { count: 4 });
const livenessKill = [
  eventThat("Unhealthy", "Liveness probe failed: timeout"),
  eventThat("Killing", "Container main failed liveness probe, will be restarted", { type: "Normal" }),
];

/** The code, the state, and what the sentence must say. */
const cases: Readonly<Record<string, readonly [PodFacts, string, State, RegExp]>> = {
  "a scheduling gate": [
    podWith({ spec: { schedulingGates: [{ name: "quota.example" }] }, status: { phase: "Pending" } }),
    "SchedulingGated",
    "wrong",
    /the scheduling gate quota\.example/,
  ],
  "no scheduler": [
    podWith({ spec: { schedulerName: "mine" }, status: { phase: "Pending" } }),
    "NotScheduledYet",
    "wrong",
    /not been looked at/,
  ],
  "a scheduler that has yet to look": [
    podWith({ metadata: { creationTimestamp: "2026-01-01T00:09:59Z" }, status: { phase: "Pending" } }),
    "NotScheduledYet",
    "underway",
    /not been looked at/,
  ],
  "no node that fits": [
    podWith({ status: unscheduled("0/1 nodes are available: 1 Insufficient cpu.") }),
    "Unschedulable",
    "wrong",
    /none can at present/,
  ],
  "room that is being made": [
    podWith({ status: { ...unscheduled("1 Insufficient cpu"), nominatedNodeName: "n1" } }),
    "WaitsForRoom",
    "underway",
    /waits for room on n1, where pods of lower priority are being ended/,
  ],
  "a claim that does not exist": [
    podWith({ spec: mounts, status: unscheduled("…") }, { claims: new Map([["data", undefined]]) }),
    "WaitsForClaim",
    "wrong",
    /waits for its claim data/,
  ],
  "a claim that is not bound": [
    podWith(
      { spec: mounts, status: unscheduled("pod has unbound immediate PersistentVolumeClaims") },
      { claims: new Map([["data", claim]]) },
    ),
    "WaitsForClaim",
    "wrong",
    /waits for its claim data/,
  ],
  "a claim that waits for the pod": [
    podWith({ spec: mounts, status: unscheduled("1 Insufficient cpu") }, { claims: new Map([["data", claim]]) }),
    "Unschedulable",
    "wrong",
    /none can/,
  ],
  "an image that cannot be pulled": [
    podRunning(waiting("ImagePullBackOff"), { events: [pullFailure] }),
    "ImagePull",
    "wrong",
    /main has an image that cannot be pulled: nginx:none/,
  ],
  "an image that has just failed": [
    podRunning(waiting("ErrImagePull", "denied")),
    "ImagePull",
    "wrong",
    /cannot be pulled/,
  ],
  "an image without a sensible name": [
    podRunning(waiting("InvalidImageName", "couldn't parse")),
    "InvalidImageName",
    "wrong",
    /cannot be read: "nginx:none"/,
  ],
  "an image that may not be pulled": [
    podRunning(waiting("ErrImageNeverPull")),
    "ErrImageNeverPull",
    "wrong",
    /not on the node, and may not be pulled/,
  ],
  "a ConfigMap that is missing": [
    podRunning(waiting("CreateContainerConfigError", 'configmap "settings" not found')),
    "CreateContainerConfigError",
    "wrong",
    /something it refers to is missing/,
  ],
  "a container that cannot be made": [
    podRunning(waiting("CreateContainerError", "x")),
    "CreateContainerError",
    "wrong",
    /be made/,
  ],
  "a command that does not exist": [
    podRunning(waiting("RunContainerError", 'exec: "nope": executable file not found in $PATH')),
    "RunContainerError",
    "wrong",
    /cannot be started/,
  ],
  "a hook that fails": [podRunning(waiting("PostStartHookError")), "PostStartHookError", "wrong", /postStart hook/],
  "a crash loop": [
    podRunning(crashed(3)),
    "CrashLoop",
    "wrong",
    /keeps failing: its container main ended with exit code 3, and was restarted 7 times/,
  ],
  "a crash just now": [podRunning({ state: ended(1) }), "CrashLoop", "wrong", /main ended with exit code 1$/],
  "out of memory": [
    podRunning(crashed(137, { reason: "OOMKilled" })),
    "OutOfMemory",
    "wrong",
    /more memory than it may, and was restarted 7 times/,
  ],
  "a signal": [podRunning(crashed(139)), "CrashLoop", "wrong", /ended by signal 11 \(SIGSEGV\)/],
  "a program that is not there": [podRunning(crashed(127)), "CrashLoop", "wrong", /127: its command was not found/],
  "a liveness probe that fails again and again": [
    podRunning(crashed(0), { events: livenessKill }),
    "ProbeKills",
    "wrong",
    /was killed since its probe failed/,
  ],
  "a liveness probe that failed": [
    podRunning(
      { ...runs, ready: true, restartCount: 2, lastState: ended(137) },
      { events: livenessKill },
      {},
      { conditions: [{ type: "Ready", status: "True" }] },
    ),
    "ProbeKills",
    "wrong",
    /runs, but its container main was restarted 2 times, the last time because its liveness probe failed/,
  ],
  "a readiness probe that fails": [
    podRunning(runs, { events: [unhealthy] }, probed, notReady),
    "ReadinessProbe",
    "wrong",
    /no service sends it traffic: the readiness probe of its container main fails/,
  ],
  "a readiness probe that has yet to succeed": [
    podRunning(runs, {}, probed, notReady),
    "ReadinessProbe",
    "underway",
    /has not succeeded yet/,
  ],
  "a startup probe": [
    podRunning(
      { ...runs, started: false },
      {},
      {
        containers: [{ name: "main", image: "nginx", startupProbe: { tcpSocket: { port: 80 }, failureThreshold: 5 } }],
      },
      notReady,
    ),
    "StartupProbe",
    "underway",
    /startup probe of its container main has not succeeded yet; after 5 failures in a row it is restarted/,
  ],
  "a readiness gate": [
    podRunning({ ...runs, ready: true }, {}, { readinessGates: [{ conditionType: "example.com/routed" }] }, notReady),
    "ReadinessGates",
    "wrong",
    /its readiness gate waits for example\.com\/routed/,
  ],
  "an init container that runs": [
    podWith({
      spec: { nodeName: "n1", initContainers: [{ name: "setup", image: "nginx" }] },
      status: {
        phase: "Pending",
        startTime: began,
        initContainerStatuses: [{ name: "setup", image: "", imageID: "", ready: false, restartCount: 0, ...runs }],
      },
    }),
    "InitContainer",
    "underway",
    /waits for its init container setup to end \(1 of 1\)/,
  ],
  "an init container that fails": [
    podWith({
      spec: { nodeName: "n1", initContainers: [{ name: "setup", image: "nginx" }] },
      status: {
        phase: "Pending",
        startTime: began,
        initContainerStatuses: [{ name: "setup", image: "", imageID: "", ready: false, ...crashed(2) }],
      },
    }),
    "CrashLoop",
    "wrong",
    /its container setup ended with exit code 2/,
  ],
  "a volume that cannot be mounted": [
    podRunning(
      waiting("ContainerCreating"),
      { events: [eventThat("FailedMount", 'MountVolume.SetUp failed for volume "c": configmap "c" not found')] },
      {},
      { phase: "Pending" },
    ),
    "FailedMount",
    "wrong",
    /cannot be started on n1: a volume of it cannot be mounted/,
  ],
  "a sandbox that cannot be made": [
    podRunning(
      waiting("ContainerCreating"),
      { events: [eventThat("FailedCreatePodSandBox", "no addresses left")] },
      {},
      { phase: "Pending" },
    ),
    "Sandbox",
    "wrong",
    /its sandbox, which holds its network, cannot be made/,
  ],
  "trouble that is over": [
    podRunning(
      waiting("ContainerCreating"),
      {
        events: [eventThat("FailedMount", "x"), eventThat("Pulled", "y", { lastTimestamp: "2026-01-01T00:09:59Z" })],
      },
      {},
      { phase: "Pending", startTime: lately },
    ),
    "Starting",
    "underway",
    /is being started on n1/,
  ],
  "a kubelet that has yet to take it up": [
    podWith({ spec: { nodeName: "n1" }, metadata: { creationTimestamp: lately }, status: { phase: "Pending" } }),
    "NotAcknowledged",
    "underway",
    /bound to n1, whose kubelet has not taken it up/,
  ],
  "a slow start": [
    podRunning(waiting("ContainerCreating"), {}, {}, { phase: "Pending" }),
    "Starting",
    "wrong",
    /is being started on n1/,
  ],
  "a node that is gone": [
    podWith({ spec: { nodeName: "n2" }, status: { phase: "Running" } }, { node: "gone" }),
    "NodeLost",
    "wrong",
    /is on node n2, which does not exist any more/,
  ],
  "a node that does not answer": [
    podWith(
      { spec: { nodeName: "n1" }, status: { phase: "Pending" } },
      { node: nodeThat("Unknown", "stopped posting") },
    ),
    "NodeLost",
    "wrong",
    /is to start on node n1, which does not answer/,
  ],
  eviction: [
    podWith({ spec: { nodeName: "n1" }, status: { phase: "Failed", reason: "Evicted", message: "low on memory" } }),
    "Evicted",
    "wrong",
    /has failed: was evicted by its node/,
  ],
  "a node that refused it": [
    podWith({ spec: { nodeName: "n1" }, status: { phase: "Failed", reason: "OutOfcpu" } }),
    "OutOfcpu",
    "wrong",
    /had not enough cpu left/,
  ],
  "a failure": [
    podRunning({ state: ended(5, { message: "fatal: no disk" }) }, {}, { restartPolicy: "Never" }, { phase: "Failed" }),
    "Failed",
    "wrong",
    /has failed: its container main ended with exit code 5/,
  ],
  finalizers: [
    podWith({
      metadata: deleted("2026-01-01T00:00:00Z", ["example.com/hold"]),
      spec: { nodeName: "n1" },
      status: { phase: "Running" },
    }),
    "FinalizersRemain",
    "wrong",
    /is deleted, and waits for its finalizer example\.com\/hold/,
  ],
  grace: [
    podWith({ metadata: deleted("2026-01-01T00:10:20Z"), spec: { nodeName: "n1" }, status: { phase: "Running" } }),
    "Terminating",
    "underway",
    /have 20 of 30 s left to end/,
  ],
  "grace that is long over": [
    podWith({ metadata: deleted("2026-01-01T00:05:00Z"), spec: { nodeName: "n1" }, status: { phase: "Running" } }),
    "TerminatingLate",
    "wrong",
    /its grace is over/,
  ],
  "deletion from a lost node": [
    podWith(
      { metadata: deleted("2026-01-01T00:05:00Z"), spec: { nodeName: "n1" }, status: { phase: "Running" } },
      { node: nodeThat("Unknown") },
    ),
    "TerminatingOnLostNode",
    "wrong",
    /its node n1 does not answer, and only the node can say/,
  ],
  preemption: [
    podWith({
      metadata: deleted("2026-01-01T00:10:20Z"),
      spec: { nodeName: "n1" },
      status: { phase: "Running", ...doomed("PreemptionByScheduler") },
    }),
    "Terminating",
    "underway",
    /is being deleted by the scheduler, to make room for a pod of higher priority/,
  ],
  success: [
    podWith({ spec: { nodeName: "n1" }, status: { phase: "Succeeded" } }),
    "Succeeded",
    "fine",
    /has done its work/,
  ],
  nothing: [
    podWith({
      spec: { nodeName: "n1" },
      status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
    }),
    "Running",
    "fine",
    /runs on n1, and is ready/,
  ],
  "a node that one may not read": [
    podWith(
      { spec: { nodeName: "n1" }, status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } },
      { node: "unread" },
    ),
    "Running",
    "fine",
    /runs on n1/,
  ],
};

for (const [name, [facts, code, state, says]] of Object.entries(cases))
  test(`why knows what keeps a pod: ${name}`, () => {
    const reason = podReason(facts);
    assert.match(reason.says, says);
    assert.deepEqual([reason.code, reason.state], [code, state]);
    if (state === "wrong") assert.ok((reason.evidence ?? []).length > 0 || (reason.remedies ?? []).length > 0);
  });

const evidenceOf = (facts: PodFacts) => (podReason(facts).evidence ?? []).map(({ from, says }) => `${from}: ${says}`);

test("why tells of a crash loop how it ended, its last words, its log, and when it starts again", () => {
  const facts = podRunning(crashed(3, { reason: "Error", message: "fatal: no database\n" }), {
    lastLines: new Map([["main", ["starting", "cannot open /data"]]]),
  });
  assert.deepEqual(evidenceOf(facts), [
    "container main: Error, exit code 3, after 9m30s",
    "last words of main: fatal: no database",
    "log of main: starting\ncannot open /data",
    "next start: in about 10 s",
  ]);
  assert.deepEqual(podReason(facts).remedies, [
    "read all it said before it ended: kubectl logs web -c main --previous",
  ]);
});

test("why tells of an image what the registry said, and when the next pull is", () => {
  const facts = podRunning(waiting("ImagePullBackOff", "Back-off pulling image"), { events: [pullFailure] });
  assert.deepEqual(evidenceOf(facts), [
    "container main: ImagePullBackOff: Back-off pulling image",
    'event Failed: Failed to pull image "nginx:none": manifest unknown',
    "next pull: in about 10 s",
  ]);
  assert.deepEqual(podReason(facts).remedies, ["correct the image's name or tag"]);
});

test("why says what is missing for a container", () => {
  const cureOf = (message: string) => podReason(podRunning(waiting("CreateContainerConfigError", message))).remedies;
  assert.deepEqual(cureOf('secret "key" not found'), ["create the Secret key, or mark the reference as optional"]);
  assert.deepEqual(cureOf("couldn't find key b in ConfigMap default/settings"), [
    "add the key b to the ConfigMap default/settings, or mark the reference as optional",
  ]);
  const root = podRunning(
    waiting("CreateContainerConfigError", 'container has runAsNonRoot and image will run as root (pod: "web")'),
  );
  assert.match(podReason(root).says, /its container main would run as root, which it must not$/);
  assert.match(podReason(root).remedies?.[0] ?? "", /^say whom it is to run as with securityContext\.runAsUser/);
  assert.deepEqual(cureOf("?"), ["create the ConfigMap, Secret or key that the message names"]);
});

test("why says what helps against each reason the scheduler gives", () => {
  const message =
    "0/3 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient cpu.";
  assert.deepEqual(
    podReason(podWith({ status: unscheduled(message) }, { claims: new Map([["data", undefined]]) })).remedies,
    [
      "create the PersistentVolumeClaim data it mounts",
      "see the taints of the nodes (kubectl describe nodes), and tolerate them in the pod or take them away",
      "ask for less memory, free some, or add nodes that have more",
      "ask for less cpu, free some, or add nodes that have more",
      "kubectl uncordon the nodes that should take pods again",
    ],
  );
});

test("why names the nodes of one verdict together", () => {
  const verdicts = [..."abcdefg"].map((node) => ({ node, plugin: "NodeResourcesFit", reason: "Insufficient cpu" }));
  assert.deepEqual(evidenceOf(podWith({ status: unscheduled("no") }, { verdicts })).slice(1), [
    "scheduler on a, b, c, d, e and 2 more: NodeResourcesFit: Insufficient cpu",
  ]);
});

test("why says of a preempted pod which one took its place", () => {
  const facts = podWith(
    {
      metadata: deleted("2026-01-01T00:10:20Z"),
      spec: { nodeName: "n1" },
      status: { phase: "Running", ...doomed("PreemptionByScheduler") },
    },
    {
      events: [eventThat("Preempted", "Preempted by pod u9 on node n1")],
      deletedBy: "kube-scheduler, because of pods/urgent,",
    },
  );
  assert.deepEqual(evidenceOf(facts), [
    "condition DisruptionTarget: PreemptionByScheduler: default-scheduler: preempting",
    "event Preempted: Preempted by pod u9 on node n1",
    "trace: kube-scheduler, because of pods/urgent, asked for it",
  ]);
});

test("why says who takes a finalizer off, and who asked for the deletion", () => {
  const facts = podWith(
    { metadata: deleted("2026-01-01T00:00:00Z", ["batch.kubernetes.io/job-tracking"]), spec: { nodeName: "n1" } },
    { deletedBy: "kubernetes-admin (kubectl)" },
  );
  assert.deepEqual(evidenceOf(facts), [
    "finalizer batch.kubernetes.io/job-tracking: is taken off by the Job controller, once it has counted how the pod ended",
    "trace: kubernetes-admin (kubectl) asked for it",
  ]);
});
