import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Pod, PodStatus } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { Draft } from "#schema/infer.ts";
import type { PodState } from "../runtime.ts";
import { containerOf, now, podOf, sandboxOf, stateOf, viewOf } from "../testing.ts";
import { planPod } from "./machine.ts";
import { podStatus } from "./status.ts";
import type { PodSyncView } from "./view.ts";

/** The status of a pod as it is told when the machine has planned. */
function statusOf(pod: Pod, state: PodState, view: Partial<PodSyncView> = {}, hostIps = ["192.0.2.1"]): PodStatus {
  const seen = viewOf(pod, state, view);
  return podStatus({
    pod,
    old: pod.status,
    state,
    plan: planPod(seen),
    starting: seen.starting,
    probes: seen.probes,
    runtimeName: "test",
    resized: new Map(),
    resize: undefined,
    hostIps,
    acceptedAt: seen.acceptedAt,
    now: seen.now,
  });
}

/** `web running ready`, `web waiting ContainerCreating`, `web terminated Error 1`. */
function words({ name, state, ready, restartCount }: ContainerStatus): string {
  const is = state.running
    ? `running${ready ? " ready" : ""}`
    : state.terminated
      ? `terminated ${state.terminated.reason} ${state.terminated.exitCode}`
      : `waiting ${state.waiting?.reason ?? ""}`;
  return `${name} ${is}${restartCount > 0 ? ` #${restartCount}` : ""}`.trim();
}

const containersOf = ({ initContainerStatuses = [], containerStatuses = [] }: PodStatus) =>
  [...initContainerStatuses, ...containerStatuses].map(words);

const conditionsOf = ({ conditions = [] }: PodStatus) =>
  Object.fromEntries(conditions.map(({ type, status, reason }) => [type, reason ? `${status} ${reason}` : status]));

const nothing: PodState = { sandboxes: [], containers: [] };
const init: Draft<PodSpec> = { initContainers: [{ name: "setup", image: "setup" }] };
const sidecar: Draft<PodSpec> = { initContainers: [{ name: "proxy", image: "proxy", restartPolicy: "Always" }] };
const never: Draft<PodSpec> = { restartPolicy: "Never" };

test("the phase and the containers of a pod", () => {
  const table: readonly [string, Draft<PodSpec>, PodState, Partial<PodSyncView>, string, readonly string[]][] = [
    ["just taken on", {}, nothing, {}, "Pending", ["web waiting ContainerCreating"]],
    [
      "with init containers",
      init,
      nothing,
      {},
      "Pending",
      ["setup waiting PodInitializing", "web waiting PodInitializing"],
    ],
    ["initializing", init, stateOf(["setup running"]), {}, "Pending", ["setup running", "web waiting PodInitializing"]],
    [
      "initialized",
      init,
      stateOf(["setup exited"]),
      {},
      "Pending",
      ["setup terminated Completed 0", "web waiting PodInitializing"],
    ],
    [
      "init has failed for good",
      { ...init, ...never },
      stateOf(["setup exited 1"], [sandboxOf("s1", { isReady: false })]),
      {},
      "Failed",
      ["setup terminated Error 1", "web waiting PodInitializing"],
    ],
    [
      "init is tried again",
      init,
      stateOf(["setup exited 1"]),
      { delays: new Map([["setup", { ms: 10_000, at: now }]]) },
      "Pending",
      ["setup waiting CrashLoopBackOff", "web waiting PodInitializing"],
    ],
    ["running", {}, stateOf(["web running"]), {}, "Running", ["web running ready"]],
    [
      "being started",
      {},
      stateOf(["web running"]),
      { starting: new Set(["web"]) },
      "Pending",
      ["web waiting ContainerCreating"],
    ],
    ["made, not started", {}, stateOf(["web created"]), {}, "Pending", ["web waiting"]],
    [
      "restarted",
      {},
      stateOf([containerOf("web running", { attempt: 1 }), "web exited 1"]),
      {},
      "Running",
      ["web running ready #1"],
    ],
    ["to be restarted", {}, stateOf(["web exited 1"]), {}, "Running", ["web terminated Error 1"]],
    [
      "kept from it",
      {},
      stateOf(["web exited 1"]),
      { delays: new Map([["web", { ms: 10_000, at: now }]]) },
      "Running",
      ["web waiting CrashLoopBackOff"],
    ],
    [
      "succeeded",
      never,
      stateOf(["web exited"], [sandboxOf("s1", { isReady: false })]),
      {},
      "Succeeded",
      ["web terminated Completed 0"],
    ],
    [
      "failed",
      never,
      stateOf(["web exited 2"], [sandboxOf("s1", { isReady: false })]),
      {},
      "Failed",
      ["web terminated Error 2"],
    ],
    [
      "one runs",
      {
        ...never,
        containers: [
          { name: "web", image: "nginx" },
          { name: "log", image: "log" },
        ],
      },
      stateOf(["log running", "web exited 1"]),
      {},
      "Running",
      ["web terminated Error 1", "log running ready"],
    ],
    [
      "a sidecar starts",
      sidecar,
      stateOf(["proxy running"]),
      { starting: new Set(["web"]) },
      "Pending",
      ["proxy running ready", "web waiting PodInitializing"],
    ],
    [
      "a sidecar runs on while it ends",
      { ...sidecar, ...never },
      stateOf(["web exited", "proxy running"]),
      {},
      "Running",
      ["proxy running ready", "web terminated Completed 0"],
    ],
    [
      "a sidecar comes back",
      sidecar,
      stateOf(["web running", "proxy exited 1"]),
      { delays: new Map([["proxy", { ms: 10_000, at: now }]]) },
      "Running",
      ["proxy waiting CrashLoopBackOff", "web running ready"],
    ],
    [
      "out of memory",
      never,
      stateOf([containerOf("web exited 137", { reason: "OOMKilled" })], [sandboxOf("s1", { isReady: false })]),
      {},
      "Failed",
      ["web terminated OOMKilled 137"],
    ],
  ];
  for (const [name, spec, state, view, phase, containers] of table) {
    const status = statusOf(podOf(spec), state, view);
    assert.equal(status.phase, phase, name);
    assert.deepEqual(containersOf(status), containers, name);
  }
});

test("the conditions of a pod", () => {
  const table: readonly [string, Pod, PodState, Readonly<Record<string, string>>][] = [
    [
      "without a sandbox",
      podOf(init),
      nothing,
      {
        PodReadyToStartContainers: "False",
        Initialized: "False ContainersNotInitialized",
        Ready: "False ContainersNotReady",
        ContainersReady: "False ContainersNotReady",
        PodScheduled: "True",
      },
    ],
    [
      "running",
      podOf(init),
      stateOf(["web running", "setup exited"]),
      {
        PodReadyToStartContainers: "True",
        Initialized: "True",
        Ready: "True",
        ContainersReady: "True",
        PodScheduled: "True",
      },
    ],
    [
      "waiting for a gate",
      podOf({ readinessGates: [{ conditionType: "example.com/gate" }] }),
      stateOf(["web running"]),
      {
        PodReadyToStartContainers: "True",
        Initialized: "True",
        Ready: "False ReadinessGatesNotReady",
        ContainersReady: "True",
        PodScheduled: "True",
      },
    ],
    [
      "with a gate that is open, and what others say",
      podOf(
        { readinessGates: [{ conditionType: "example.com/gate" }] },
        { status: { conditions: [{ type: "example.com/gate", status: "True" }] } },
      ),
      stateOf(["web running"]),
      {
        "example.com/gate": "True",
        PodReadyToStartContainers: "True",
        Initialized: "True",
        Ready: "True",
        ContainersReady: "True",
        PodScheduled: "True",
      },
    ],
    [
      "completed",
      podOf(never),
      stateOf(["web exited"], [sandboxOf("s1", { isReady: false })]),
      {
        PodReadyToStartContainers: "False",
        Initialized: "True PodCompleted",
        Ready: "False PodCompleted",
        ContainersReady: "False PodCompleted",
        PodScheduled: "True",
      },
    ],
    [
      "failed",
      podOf(never),
      stateOf(["web exited 1"], [sandboxOf("s1", { isReady: false })]),
      {
        PodReadyToStartContainers: "False",
        Initialized: "True",
        Ready: "False PodFailed",
        ContainersReady: "False PodFailed",
        PodScheduled: "True",
      },
    ],
  ];
  for (const [name, pod, state, expected] of table)
    assert.deepEqual(conditionsOf(statusOf(pod, state)), expected, name);
});

test("probes say when a container has started and is ready", () => {
  const probe = { tcpSocket: { port: 1 } };
  const pod = podOf({ containers: [{ name: "web", image: "nginx", startupProbe: probe, readinessProbe: probe }] });
  const table = [
    [undefined, undefined, false, false],
    ["success", undefined, true, false],
    ["success", "failure", true, false],
    ["success", "success", true, true],
    [undefined, "success", false, false],
  ] as const;
  for (const [startup, readiness, started, ready] of table) {
    const probes = new Map([["web-0", { startup, readiness, liveness: undefined }]]);
    const [status] = statusOf(pod, stateOf(["web running"]), { probes }).containerStatuses ?? [];
    assert.deepEqual([status?.started, status?.ready], [started, ready]);
  }
});

test("what a container did before is remembered", () => {
  const pod = podOf();
  const [first] =
    statusOf(pod, stateOf([containerOf("web running", { attempt: 1 }), "web exited 1"])).containerStatuses ?? [];
  assert.deepEqual(first?.lastState.terminated, {
    exitCode: 1,
    signal: undefined,
    reason: "Error",
    message: undefined,
    startedAt: "2026-01-01T00:00:00Z",
    finishedAt: "2026-01-01T00:00:00Z",
    containerID: "test://web-0",
  });
  const before = podOf({}, { status: statusOf(pod, stateOf(["web running"])) });
  const [lost] = statusOf(before, stateOf([])).containerStatuses ?? [];
  assert.equal(lost?.lastState.terminated?.reason, "ContainerStatusUnknown");
  assert.equal(lost?.lastState.terminated?.exitCode, 137);
  assert.equal(lost?.restartCount, 1);
});

test("times, addresses and generations", () => {
  const pod = podOf({}, { metadata: { generation: 4 } });
  const status = statusOf(pod, stateOf(["web running"]), {}, ["192.0.2.1", "2001:db8::1"]);
  assert.equal(status.startTime, "2026-01-01T00:00:00Z");
  assert.equal(status.observedGeneration, 4);
  assert.deepEqual([status.podIP, status.podIPs], ["10.0.0.2", [{ ip: "10.0.0.2" }]]);
  assert.deepEqual([status.hostIP, status.hostIPs], ["192.0.2.1", [{ ip: "192.0.2.1" }, { ip: "2001:db8::1" }]]);
  assert.equal(status.qosClass, "BestEffort");
  const host = statusOf(podOf({ hostNetwork: true }), stateOf(["web running"], [sandboxOf("s1", { ips: [] })]));
  assert.equal(host.podIP, "192.0.2.1");

  const later = { ...pod, status };
  const again = statusOf(later, stateOf(["web running"]), { now: now + 60_000 });
  assert.deepEqual(again.conditions, status.conditions, "nothing has changed, so no transition time has");
  const unready = statusOf(later, stateOf(["web exited"]), { now: now + 60_000 });
  const times = Object.fromEntries(
    (unready.conditions ?? []).map(({ type, lastTransitionTime }) => [type, lastTransitionTime]),
  );
  assert.equal(times.Ready, "2026-01-01T00:01:00Z");
  assert.equal(times.Initialized, "2026-01-01T00:00:00Z");
  assert.equal(unready.startTime, status.startTime);
});

test("nobody hears of an end before nothing runs any more", () => {
  const pod = podOf({ activeDeadlineSeconds: 5 }, { status: { phase: "Running" } });
  const view = { now: now + 5000 };
  const running = statusOf(pod, stateOf(["web running"]), view);
  assert.deepEqual([running.phase, running.reason], ["Running", undefined]);
  const over = statusOf(pod, stateOf(["web exited"], [sandboxOf("s1", { isReady: false })]), view);
  assert.deepEqual(
    [over.phase, over.reason, over.message],
    ["Failed", "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"],
  );
});

test("a pod that has ended stays so, whatever is seen", () => {
  const pod = podOf({}, { status: { phase: "Failed", reason: "Evicted", message: "no room" } });
  const status = statusOf(pod, stateOf(["web running"]));
  assert.deepEqual([status.phase, status.reason, status.message], ["Failed", "Evicted", "no room"]);
});

test("a pod that ends before it ran has failed", () => {
  const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 1 };
  const plain = statusOf(podOf({}, { metadata }), nothing);
  assert.equal(plain.phase, "Failed");
  assert.deepEqual(containersOf(plain), ["web terminated ContainerStatusUnknown 137"]);
  const initializing = statusOf(podOf(init, { metadata }), nothing);
  assert.deepEqual(containersOf(initializing), [
    "setup terminated ContainerStatusUnknown 137",
    "web waiting PodInitializing",
  ]);
});

test("a pod that starts anew as a whole says so", () => {
  const containers = [
    {
      name: "web",
      image: "nginx",
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } }],
    },
    { name: "log", image: "log" },
  ];
  const first = podOf(
    { containers },
    { status: statusOf(podOf({ containers }), stateOf(["log running", "web running"])) },
  );
  assert.equal(conditionsOf(first.status).AllContainersRestarting, "False");
  const status = statusOf(first, stateOf(["web exited 42"]));
  assert.equal(conditionsOf(status).AllContainersRestarting, "True RestartAllContainersStarted");
  assert.equal(status.phase, "Running");
  const log = status.containerStatuses?.find(({ name }) => name === "log");
  assert.equal(log?.state.waiting?.reason, "RestartingAllContainers");
  assert.equal(log?.lastState.terminated?.reason, "RestartingAllContainers");
  assert.equal(log?.restartCount, 1);
});
