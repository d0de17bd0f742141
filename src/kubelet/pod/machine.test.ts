import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { Draft } from "#schema/infer.ts";
import type { ContainerState, PodState } from "../runtime.ts";
import { containerOf, now, podOf, sandboxOf, stateOf, viewOf } from "../testing.ts";
import { planPod } from "./machine.ts";
import type { PodAction, PodPlan, PodSyncView } from "./view.ts";

/** A plan as words: `start web`, `stop web 30s`, `ends`. */
function told(plan: PodPlan): readonly string[] {
  const words = plan.actions.map(wordsOf);
  for (const [name, { reason }] of plan.waiting) words.push(`${name} waits: ${reason}`);
  if (plan.isFinished) words.push("finished");
  else if (plan.isTerminating) words.push("ends");
  return words;
}

function wordsOf(action: PodAction): string {
  switch (action.type) {
    case "createSandbox":
      return `sandbox ${action.attempt}`;
    case "startContainer":
      return [
        `start ${action.container.name}`,
        ...(action.attempt === 0 ? [] : [`#${action.attempt}`]),
        ...(action.existing === undefined ? [] : [`as ${action.existing}`]),
        ...(action.isStarted ? ["by its hook"] : []),
      ].join(" ");
    case "beginStop":
      return `kill ${action.name}${action.hook ? " after its hook" : ""}: ${action.message}`;
    case "stopContainer":
      return `stop ${action.id} ${action.graceMs / 1000}s`;
    case "abortStart":
      return `abort ${action.name}`;
    default:
      return `${action.type} ${action.id}`;
  }
}

interface Case {
  readonly name: string;
  readonly spec?: Draft<PodSpec>;
  readonly metadata?: { readonly deletionTimestamp?: string; readonly deletionGracePeriodSeconds?: number };
  readonly state: PodState;
  readonly view?: Partial<PodSyncView>;
  readonly does: readonly string[];
  readonly wakesAfterMs?: number;
}

function check(cases: readonly Case[]): void {
  for (const { name, spec, metadata, state, view, does, wakesAfterMs } of cases) {
    const plan = planPod(viewOf(podOf(spec, { metadata }), state, view));
    assert.deepEqual(told(plan), does, name);
    if (wakesAfterMs !== undefined) assert.equal(plan.wakeAt - now, wakesAfterMs, name);
  }
}

const nothing: PodState = { sandboxes: [], containers: [] };
const two: Draft<PodSpec> = {
  containers: [
    { name: "web", image: "nginx" },
    { name: "log", image: "log" },
  ],
};
const dead = (text: string, rest: Partial<ContainerState> = {}) => containerOf(text, rest);

test("a pod begins with a sandbox, and gets a new one when it has lost it", () => {
  check([
    { name: "nothing is there", state: nothing, does: ["sandbox 0"] },
    { name: "it is being made", state: nothing, view: { isSandboxBusy: true }, does: [] },
    {
      name: "it could not be made",
      state: nothing,
      view: { sandboxRetryAt: now + 10_000 },
      does: [],
      wakesAfterMs: 10_000,
    },
    {
      name: "it is not ready",
      state: stateOf(["web exited"], [sandboxOf("s1", { isReady: false })]),
      does: ["sandbox 1"],
    },
    { name: "it has no address", state: stateOf([], [sandboxOf("s1", { ips: [] })]), does: ["stopSandbox s1"] },
    {
      name: "it needs no address of its own",
      spec: { hostNetwork: true },
      state: stateOf(["web running"], [sandboxOf("s1", { ips: [] })]),
      does: [],
    },
    {
      name: "two are ready",
      state: stateOf([], [sandboxOf("s2", { attempt: 1 }), sandboxOf("s1")]),
      does: ["stopSandbox s2"],
    },
    {
      name: "what still runs in a dead one is stopped first",
      state: stateOf(["web running"], [sandboxOf("s1", { isReady: false })]),
      does: ["kill web: Stopping container web", "stop web-0 30s"],
    },
    {
      name: "a pod that is never restarted does not get another",
      spec: { restartPolicy: "Never" },
      state: stateOf(["web exited"], [sandboxOf("s1", { isReady: false })]),
      does: ["finished"],
    },
    {
      name: "unless none of its containers was ever made",
      spec: { restartPolicy: "Never" },
      state: stateOf([], [sandboxOf("s1", { isReady: false })]),
      does: ["sandbox 1"],
    },
    {
      name: "nor does one that has succeeded",
      spec: { restartPolicy: "OnFailure" },
      state: stateOf(["web exited"], [sandboxOf("s1", { isReady: false })]),
      does: ["finished"],
    },
    {
      name: "a container of an earlier sandbox is started again in the new one",
      state: stateOf(["web exited 1"], [sandboxOf("s2", { attempt: 1 })]),
      does: ["start web #1"],
    },
    {
      name: "an old sandbox without containers is removed",
      state: stateOf([dead("web running", { sandbox: "s2" })], [sandboxOf("s2"), sandboxOf("s1", { isReady: false })]),
      does: ["removeSandbox s1"],
    },
  ]);
});

test("containers start together, and are started again as their policy says", () => {
  check([
    { name: "all at once", spec: two, state: stateOf([]), does: ["start web", "start log"] },
    {
      name: "not those that are being started",
      spec: two,
      state: stateOf([]),
      view: { starting: new Set(["web"]) },
      does: ["start log"],
    },
    { name: "all run", spec: two, state: stateOf(["web running", "log running"]), does: [], wakesAfterMs: Infinity },
    { name: "Always: after success", state: stateOf(["web exited"]), does: ["start web #1"] },
    { name: "Always: after failure", state: stateOf(["web exited 1"]), does: ["start web #1"] },
    {
      name: "OnFailure: after failure",
      spec: { restartPolicy: "OnFailure" },
      state: stateOf(["web exited 1"]),
      does: ["start web #1"],
    },
    {
      name: "OnFailure: not after success",
      spec: { restartPolicy: "OnFailure" },
      state: stateOf(["web exited"]),
      does: ["stopSandbox s1", "ends"],
    },
    {
      name: "Never: not after failure",
      spec: { restartPolicy: "Never" },
      state: stateOf(["web exited 1"]),
      does: ["stopSandbox s1", "ends"],
    },
    {
      name: "Never: the others go on",
      spec: { ...two, restartPolicy: "Never" },
      state: stateOf(["log running", "web exited 1"]),
      does: [],
    },
    {
      name: "one that was made and never started is taken as it is",
      state: stateOf([dead("web created", { attempt: 2 }), dead("web exited 1", { attempt: 1 })]),
      does: ["start web #2 as web-2"],
    },
    {
      name: "one that was started, but whose hook was not run to its end, has only that to come",
      state: stateOf([containerOf("web running", { attempt: 2, isHookDue: true })]),
      does: ["start web #2 as web-2 by its hook"],
    },
    {
      name: "once",
      state: stateOf([containerOf("web running", { isHookDue: true })]),
      view: { starting: new Set(["web"]) },
      does: [],
    },
    {
      name: "not if it has ended since",
      spec: { restartPolicy: "Never" },
      state: stateOf([containerOf("web exited 0", { isHookDue: true })]),
      does: ["stopSandbox s1", "ends"],
    },
    {
      name: "unless its sandbox is gone",
      state: stateOf([containerOf("web created", { sandbox: "s0" })]),
      does: ["removeContainer web-0"],
    },
    {
      name: "one whose start was aborted goes first",
      state: stateOf(["web aborted"]),
      does: ["removeContainer web-0"],
    },
    {
      name: "and only once",
      state: stateOf(["web aborted"]),
      view: { removing: new Set(["web-0"]) },
      does: [],
    },
    {
      name: "Never: a start that was aborted is no failure",
      spec: { restartPolicy: "Never" },
      state: stateOf(["web aborted 128"]),
      does: ["removeContainer web-0"],
    },
    {
      name: "Never: nor does it count when the sandbox is lost",
      spec: { restartPolicy: "Never" },
      state: stateOf(["web aborted 128"], [sandboxOf("s1", { isReady: false })]),
      does: ["sandbox 1"],
    },
    {
      name: "one of which nothing is known is killed first",
      state: stateOf(["web unknown"]),
      does: [
        'kill web: Container is in "unknown" state, try killing it before restart, will be restarted',
        "stop web-0 30s",
      ],
    },
    {
      name: "one whose image has changed is restarted whatever its policy",
      spec: { containers: [{ name: "web", image: "nginx:2" }], restartPolicy: "Never" },
      state: stateOf(["web running"]),
      does: ["kill web: Container web definition changed, will be restarted", "stop web-0 30s"],
    },
    {
      name: "and is started when it has ended",
      spec: { containers: [{ name: "web", image: "nginx:2" }], restartPolicy: "Never" },
      state: stateOf(["web exited"]),
      view: { restarting: new Set(["web"]) },
      does: ["start web #1"],
    },
    {
      name: "what ran long ago is removed",
      state: stateOf([
        dead("web running", { attempt: 3 }),
        dead("web exited", { attempt: 2 }),
        dead("web exited", { attempt: 1 }),
        dead("web exited"),
      ]),
      does: ["removeContainer web-1", "removeContainer web-0"],
    },
  ]);
});

test("a container has restart rules of its own", () => {
  const rules = (restartPolicy: string, operator: string, action = "Restart"): Draft<PodSpec> => ({
    restartPolicy: "Never",
    containers: [
      {
        name: "web",
        image: "nginx",
        restartPolicy,
        restartPolicyRules: [{ action, exitCodes: { operator, values: [42] } }],
      },
      { name: "log", image: "log" },
    ],
  });
  check([
    {
      name: "In matches",
      spec: rules("Never", "In"),
      state: stateOf(["log running", "web exited 42"]),
      does: ["start web #1"],
    },
    { name: "In does not", spec: rules("Never", "In"), state: stateOf(["log running", "web exited 1"]), does: [] },
    {
      name: "NotIn matches",
      spec: rules("Never", "NotIn"),
      state: stateOf(["log running", "web exited 1"]),
      does: ["start web #1"],
    },
    {
      name: "policy of the container",
      spec: rules("OnFailure", "In"),
      state: stateOf(["log running", "web exited 1"]),
      does: ["start web #1"],
    },
    { name: "and of success", spec: rules("OnFailure", "In"), state: stateOf(["log running", "web exited"]), does: [] },
    {
      name: "all are stopped",
      spec: rules("Never", "In", "RestartAllContainers"),
      state: stateOf(["log running", "web exited 42"]),
      does: ["kill log: Stopping container log", "stop log-0 30s"],
    },
    {
      name: "then removed",
      spec: rules("Never", "In", "RestartAllContainers"),
      state: stateOf(["log exited", "web exited 42"]),
      does: ["removeContainer log-0"],
    },
    {
      name: "the one that caused it last",
      spec: rules("Never", "In", "RestartAllContainers"),
      state: stateOf(["web exited 42"]),
      does: ["removeContainer web-0"],
    },
    {
      name: "and then begin anew",
      spec: rules("Never", "In", "RestartAllContainers"),
      state: stateOf([]),
      does: ["start web", "start log"],
    },
  ]);
});

test("a container that keeps failing waits ever longer", () => {
  const delays = new Map([["web", { ms: 20_000, at: now - 30_000 }]]);
  check([
    { name: "the first restart is free", state: stateOf(["web exited 1"]), does: ["start web #1"] },
    {
      name: "later ones wait",
      state: stateOf(["web exited 1"]),
      view: { delays, now: now + 5000 },
      does: ["web waits: CrashLoopBackOff"],
      wakesAfterMs: 20_000,
    },
    {
      name: "until they may",
      state: stateOf(["web exited 1"]),
      view: { delays, now: now + 20_000 },
      does: ["start web #1"],
    },
    {
      name: "one that ran well for ten minutes begins anew",
      state: stateOf([dead("web exited 1", { finishedAt: now + 600_001 })]),
      view: { delays: new Map([["web", { ms: 300_000, at: now }]]), now: now + 600_001 },
      does: ["start web #1"],
    },
  ]);
  const view = viewOf(podOf(), stateOf(["web exited 1"]), { delays, now: now + 20_000 });
  const [action] = planPod(view).actions;
  assert.deepEqual(action?.type === "startContainer" && action.delay, { ms: 40_000, at: now + 20_000 });
});

test("a start that failed is tried again when its time has come, and says why it waits", () => {
  const failure = {
    reason: "ErrImagePull",
    message: "no",
    retryAt: now + 10_000,
    later: { reason: "ImagePullBackOff", message: "back", at: now + 1000 },
  };
  const failures = new Map([["web", failure]]);
  check([
    { name: "at first", state: stateOf([]), view: { failures }, does: ["web waits: ErrImagePull"], wakesAfterMs: 1000 },
    {
      name: "later",
      state: stateOf([]),
      view: { failures, now: now + 1000 },
      does: ["web waits: ImagePullBackOff"],
      wakesAfterMs: 10_000,
    },
    { name: "then it is tried", state: stateOf([]), view: { failures, now: now + 10_000 }, does: ["start web"] },
    {
      name: "while it is tried nothing new is said",
      state: stateOf([]),
      view: { failures, now: now + 10_000, starting: new Set(["web"]) },
      does: ["web waits: ImagePullBackOff"],
    },
  ]);
});

test("init containers run one after another, before the others", () => {
  const init = [
    { name: "a", image: "a" },
    { name: "b", image: "b" },
  ];
  const spec = { initContainers: init };
  check([
    { name: "first", spec, state: stateOf([]), does: ["start a"] },
    { name: "it runs", spec, state: stateOf(["a running"]), does: [] },
    { name: "second", spec, state: stateOf(["a exited"]), does: ["start b"] },
    { name: "first failed", spec, state: stateOf(["a exited 1"]), does: ["start a #1"] },
    {
      name: "failed for good",
      spec: { ...spec, restartPolicy: "Never" },
      state: stateOf(["a exited 1"]),
      does: ["stopSandbox s1", "ends"],
    },
    { name: "both done", spec, state: stateOf(["b exited", "a exited"]), does: ["start web"] },
    { name: "the first was forgotten", spec, state: stateOf(["b exited"]), does: ["start web"] },
    { name: "all were forgotten, but a container runs", spec, state: stateOf(["web running"]), does: [] },
    {
      name: "a container has failed",
      spec,
      state: stateOf(["web exited 1", "b exited", "a exited"]),
      does: ["start web #1"],
    },
    {
      name: "in a new sandbox they run again",
      spec,
      state: stateOf(["web exited", "b exited", "a exited"], [sandboxOf("s2")]),
      does: ["start a #1"],
    },
    {
      name: "one that fails keeps to its back-off",
      spec,
      state: stateOf(["a exited 1"]),
      view: { delays: new Map([["a", { ms: 10_000, at: now }]]) },
      does: ["a waits: CrashLoopBackOff"],
      wakesAfterMs: 10_000,
    },
    {
      name: "ephemeral containers do not wait for them, and are started once",
      spec: {
        ...spec,
        ephemeralContainers: [
          { name: "debug", image: "debug" },
          { name: "old", image: "old" },
        ],
      },
      state: stateOf(["old exited 1", "a running"]),
      does: ["start debug"],
    },
  ]);
});

test("an ephemeral container that has ended is not started again by a runtime that has forgotten it", () => {
  const terminated = { exitCode: 0 };
  const ephemeralContainerStatuses = [
    { name: "old", image: "old", imageID: "", restartCount: 0, state: { terminated } },
  ];
  const pod = podOf(
    {
      ephemeralContainers: [
        { name: "old", image: "old" },
        { name: "debug", image: "debug" },
      ],
    },
    { status: { ephemeralContainerStatuses } },
  );
  assert.deepEqual(told(planPod(viewOf(pod, stateOf(["web running"])))), ["start debug"]);
});

test("sidecars start in order, stay, and are kept running", () => {
  const probe = { tcpSocket: { port: 1 } };
  const spec: Draft<PodSpec> = {
    initContainers: [
      { name: "a", image: "a", restartPolicy: "Always" },
      { name: "b", image: "b", restartPolicy: "Always", startupProbe: probe },
      { name: "c", image: "c" },
    ],
  };
  const b = (startup: "success" | "failure") =>
    new Map([["b-0", { startup, readiness: undefined, liveness: undefined } as const]]);
  check([
    { name: "first", spec, state: stateOf([]), does: ["start a"] },
    { name: "the next when it runs", spec, state: stateOf(["a running"]), does: ["start b"] },
    { name: "not before it has started up", spec, state: stateOf(["b running", "a running"]), does: [] },
    {
      name: "when it has",
      spec,
      state: stateOf(["b running", "a running"]),
      view: { probes: b("success") },
      does: ["start c"],
    },
    {
      name: "when it cannot",
      spec,
      state: stateOf(["b running", "a running"]),
      view: { probes: b("failure") },
      does: ["kill b: Init container b failed startup probe", "stop b-0 30s"],
    },
    {
      name: "one that ended comes back while others initialize",
      spec,
      state: stateOf(["c running", "b running", "a exited 1"]),
      view: { probes: b("success") },
      does: ["start a #1"],
    },
    {
      name: "and while the containers run",
      spec,
      state: stateOf(["web running", "c exited", "b exited", "a running"]),
      does: ["start b #1"],
    },
    {
      name: "but not when they are done",
      spec: { ...spec, restartPolicy: "Never" },
      state: stateOf(["web exited", "c exited", "b exited", "a running"]),
      does: ["kill a: Stopping container a", "stop a-0 30s", "ends"],
    },
  ]);
});

test("probes that fail have a container killed", () => {
  const probe = { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 7 };
  const containers = [{ name: "web", image: "nginx", livenessProbe: probe, startupProbe: { tcpSocket: { port: 1 } } }];
  const found = (results: object) => ({
    probes: new Map([["web-0", { startup: undefined, liveness: undefined, readiness: undefined, ...results }]]),
  });
  check([
    {
      name: "liveness, with the grace of the probe",
      spec: { containers },
      state: stateOf(["web running"]),
      view: found({ liveness: "failure" }),
      does: ["kill web: Container web failed liveness probe, will be restarted", "stop web-0 7s"],
    },
    {
      name: "startup",
      spec: { containers },
      state: stateOf(["web running"]),
      view: found({ startup: "failure" }),
      does: ["kill web: Container web failed startup probe, will be restarted", "stop web-0 30s"],
    },
    {
      name: "and not be restarted if it must not",
      spec: { containers, restartPolicy: "Never" },
      state: stateOf(["web running"]),
      view: found({ liveness: "failure" }),
      does: ["kill web: Container web failed liveness probe", "stop web-0 7s"],
    },
    {
      name: "readiness has nothing killed",
      spec: { containers },
      state: stateOf(["web running"]),
      view: found({ readiness: "failure" }),
      does: [],
    },
  ]);
});

const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 10 };

test("a pod that is deleted is stopped, then its sandbox, then it is over", () => {
  const hook = { name: "web", image: "nginx", lifecycle: { preStop: { sleep: { seconds: 3 } } } };
  const stopping = (rest: object) =>
    new Map([["web-0", { since: now - 4000, graceMs: 10_000, isHookDone: false, killAt: undefined, ...rest }]]);
  check([
    {
      name: "it runs",
      metadata: deleted,
      state: stateOf(["web running"]),
      does: ["kill web: Stopping container web", "stop web-0 10s", "ends"],
    },
    {
      name: "it is being stopped",
      metadata: deleted,
      state: stateOf(["web running"]),
      view: { stopping: stopping({ isHookDone: true, killAt: now + 6000 }) },
      does: ["ends"],
    },
    { name: "it has ended", metadata: deleted, state: stateOf(["web exited"]), does: ["stopSandbox s1", "ends"] },
    { name: "all is gone", metadata: deleted, state: nothing, does: ["finished"] },
    {
      name: "what is being started is given up",
      metadata: deleted,
      state: stateOf([]),
      view: { starting: new Set(["web"]) },
      does: ["abort web", "ends"],
    },
    {
      name: "a hook comes first",
      metadata: deleted,
      spec: { containers: [hook] },
      state: stateOf(["web running"]),
      does: ["kill web after its hook: Stopping container web", "ends"],
      wakesAfterMs: 10_000,
    },
    {
      name: "and takes of the grace",
      metadata: deleted,
      spec: { containers: [hook] },
      state: stateOf(["web running"]),
      view: { stopping: stopping({ isHookDone: true }) },
      does: ["stop web-0 6s", "ends"],
    },
    {
      name: "one that takes all of it leaves two seconds",
      metadata: deleted,
      spec: { containers: [hook] },
      state: stateOf(["web running"]),
      view: { stopping: stopping({ since: now - 10_000 }) },
      does: ["stop web-0 2s", "ends"],
    },
    {
      name: "less grace than before shortens it",
      metadata: { ...deleted, deletionGracePeriodSeconds: 1 },
      state: stateOf(["web running"]),
      view: { stopping: stopping({ isHookDone: true, killAt: now + 6000 }) },
      does: ["stop web-0 2s", "ends"],
    },
    {
      name: "without grace there are two seconds all the same",
      metadata: { ...deleted, deletionGracePeriodSeconds: 0 },
      state: stateOf(["web running"]),
      does: ["kill web: Stopping container web", "stop web-0 2s", "ends"],
    },
  ]);
});

test("sidecars end after the containers, the last first, or when the time is over", () => {
  const spec: Draft<PodSpec> = {
    initContainers: [
      { name: "a", image: "a", restartPolicy: "Always" },
      { name: "b", image: "b", restartPolicy: "Always" },
    ],
  };
  const since = (ms: number) =>
    new Map(
      ["web-0", "a-0", "b-0"].map((id) => [
        id,
        { since: now - ms, graceMs: 10_000, isHookDone: true, killAt: id === "web-0" ? now : undefined },
      ]),
    );
  const all = ["web running", "b running", "a running"];
  check([
    {
      name: "all are told, the container is stopped",
      spec,
      metadata: deleted,
      state: stateOf(all),
      does: [
        "kill web: Stopping container web",
        "stop web-0 10s",
        "kill b: Stopping container b",
        "kill a: Stopping container a",
        "ends",
      ],
      wakesAfterMs: 10_000,
    },
    {
      name: "the last sidecar next, with what is left",
      spec,
      metadata: deleted,
      state: stateOf(["web exited", "b running", "a running"]),
      view: { stopping: since(4000) },
      does: ["stop b-0 6s", "ends"],
    },
    {
      name: "then the first",
      spec,
      metadata: deleted,
      state: stateOf(["web exited", "b exited", "a running"]),
      view: { stopping: since(4000) },
      does: ["stop a-0 6s", "ends"],
    },
    {
      name: "all when the time is over",
      spec,
      metadata: deleted,
      state: stateOf(all),
      view: { stopping: since(10_000) },
      does: ["stop b-0 2s", "stop a-0 2s", "ends"],
    },
  ]);
});

test("a pod ends when its deadline has passed, when it is put out, and when it has ended before", () => {
  check([
    {
      name: "before the deadline",
      spec: { activeDeadlineSeconds: 60 },
      state: stateOf(["web running"]),
      does: [],
      wakesAfterMs: 60_000,
    },
    {
      name: "after it",
      spec: { activeDeadlineSeconds: 60 },
      state: stateOf(["web running"]),
      view: { now: now + 60_000 },
      does: ["kill web: Stopping container web", "stop web-0 30s", "ends"],
    },
    {
      name: "put out",
      state: stateOf(["web running"]),
      view: { termination: { reason: "Evicted", message: "low", graceSeconds: 5 } },
      does: ["kill web: Stopping container web", "stop web-0 5s", "ends"],
    },
  ]);
  const failed = podOf({}, { status: { phase: "Failed" } });
  assert.deepEqual(told(planPod(viewOf(failed, stateOf(["web running"])))), [
    "kill web: Stopping container web",
    "stop web-0 30s",
    "ends",
  ]);
});
