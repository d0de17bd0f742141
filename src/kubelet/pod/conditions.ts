// The conditions that a kubelet keeps in a pod's status. Those of others stay.
// Upstream: pkg/kubelet/status/generate.go.
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Pod, PodCondition } from "#api/core/v1/pod.ts";
import { timeOf } from "#schema/time.ts";
import type { Phase } from "./phase.ts";
import type { ResizeProgress } from "./resize.ts";

const own = new Set([
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
  "PodResizeInProgress",
  "PodResizePending",
  "AllContainersRestarting",
]);

export interface ConditionInput {
  readonly pod: Pod;
  readonly before: readonly PodCondition[];
  readonly phase: Phase;
  readonly init: readonly ContainerStatus[];
  readonly apps: readonly ContainerStatus[];
  readonly hasSandbox: boolean;
  readonly isRestartingAll: boolean;
  readonly resize: ResizeProgress | undefined;
  readonly now: number;
}

interface Finding {
  readonly status: "True" | "False";
  readonly reason?: string;
  readonly message?: string;
}

const holds: Finding = { status: "True" };

export function podConditions(input: ConditionInput): PodCondition[] {
  const { pod, before, hasSandbox } = input;
  const foreignConditions = othersConditions(pod);
  const ready = containersReady(input);
  const findings: [string, Finding][] = [
    ["PodReadyToStartContainers", hasSandbox ? holds : { status: "False" }],
    ["Initialized", initialized(input)],
    ["Ready", ready.status === "True" ? gatesReady(pod, foreignConditions) : ready],
    ["ContainersReady", ready],
    ["PodScheduled", holds],
  ];
  const { resize } = input;
  if (resize) findings.push([resize.type, { ...resize, status: "True" }]);
  if (couldRestartAll(pod)) findings.push(["AllContainersRestarting", restartingAll(input)]);
  const generation = pod.metadata.generation;
  const conditions = findings.map(([type, { status, reason, message }]): PodCondition => {
    const old = before.find((condition) => condition.type === type);
    return {
      type,
      observedGeneration: type === "AllContainersRestarting" ? undefined : generation,
      status,
      lastProbeTime: undefined,
      lastTransitionTime: old?.status === status ? old.lastTransitionTime : timeOf(input.now),
      reason,
      message,
    };
  });
  return [...foreignConditions, ...conditions];
}

/** What others keep in the pod's status. */
export const othersConditions = ({ status }: Pod): PodCondition[] =>
  (status.conditions ?? []).filter(({ type }) => !own.has(type));

const listed = (names: readonly string[]): string => `[${names.join(" ")}]`;

function containersReady({ pod, phase, init, apps }: ConditionInput): Finding {
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  const sidecars = (pod.spec.initContainers ?? []).flatMap((container, i) => (isSidecar(container) ? [init[i]] : []));
  const unready = [...sidecars, ...apps].flatMap((status) => (status && !status.ready ? [status.name] : []));
  if (unready.length === 0) return holds;
  return {
    status: "False",
    reason: "ContainersNotReady",
    message: `containers with unready status: ${listed(unready)}`,
  };
}

function gatesReady({ spec }: Pod, conditions: readonly PodCondition[]): Finding {
  const missing = (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = conditions.find(({ type }) => type === conditionType);
    if (!condition)
      return [`corresponding condition of pod readiness gate ${JSON.stringify(conditionType)} does not exist.`];
    return condition.status === "True"
      ? []
      : [`the status of pod readiness gate ${JSON.stringify(conditionType)} is not "True", but ${condition.status}`];
  });
  if (missing.length === 0) return holds;
  return { status: "False", reason: "ReadinessGatesNotReady", message: missing.join(", ") };
}

function initialized({ pod, before, phase, init, apps }: ConditionInput): Finding {
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  const hasStarted = apps.some(({ state, lastState }) => state.running || state.terminated || lastState.terminated);
  if (hasStarted) return holds;
  const incomplete = (pod.spec.initContainers ?? []).flatMap((container, i) => {
    const status = init[i];
    return (isSidecar(container) ? status?.started : status?.ready) ? [] : [container.name];
  });
  if (incomplete.length === 0) return holds;
  // Once a pod is initialized it stays so, even while all its containers start anew.
  if (before.some(({ type, status }) => type === "Initialized" && status === "True")) return holds;
  return {
    status: "False",
    reason: "ContainersNotInitialized",
    message: `containers with incomplete status: ${listed(incomplete)}`,
  };
}

const couldRestartAll = ({ spec }: Pod): boolean =>
  [...(spec.initContainers ?? []), ...spec.containers].some(({ restartPolicyRules }) =>
    restartPolicyRules?.some(({ action }) => action === "RestartAllContainers"),
  );

function restartingAll({ phase, isRestartingAll }: ConditionInput): Finding {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  if (!isRestartingAll) return { status: "False" };
  return {
    status: "True",
    reason: "RestartAllContainersStarted",
    message: "container exited with restart policy rule",
  };
}
