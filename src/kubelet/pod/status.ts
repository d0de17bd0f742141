// The status of a pod: a pure function of the pod, of what is observed, and of the status before.
// Upstream: pkg/kubelet/kubelet_pods.go (generateAPIPodStatus).
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Pod, PodCondition, PodStatus } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { qosClassOf } from "#api/core/v1/qos.ts";
import { timeOf } from "#schema/time.ts";
import type { PodState } from "../runtime.ts";
import { othersConditions, podConditions } from "./conditions.ts";
import { containerStatuses, lost } from "./container-status.ts";
import { currentSandbox } from "./machine.ts";
import { type Phase, phaseOf } from "./phase.ts";
import type { ContainerResources, ResizeProgress } from "./resize.ts";
import type { PodPlan, ProbeResults, WaitingReason } from "./view.ts";

export interface StatusInput {
  readonly pod: Pod;
  /** The status that was written last, which the API may not show yet. */
  readonly old: PodStatus;
  readonly state: PodState;
  readonly plan: PodPlan;
  readonly starting: ReadonlySet<string>;
  /** By container id. */
  readonly probes: ReadonlyMap<string, ProbeResults>;
  readonly runtimeName: string;
  /** Resources that were changed since they were last told, by container id. */
  readonly resized: ReadonlyMap<string, ContainerResources>;
  /** How far a change of resources has come that is not done. */
  readonly resize: ResizeProgress | undefined;
  /** Addresses of the node. */
  readonly hostIps: readonly string[];
  readonly acceptedAt: number;
  readonly now: number;
}

export function podStatus(input: StatusInput): PodStatus {
  const { pod, old, plan, state } = input;
  const { spec } = pod;
  const known = {
    init: containerStatuses(input, "init", spec.initContainers ?? [], old.initContainerStatuses),
    apps: containerStatuses(input, "app", spec.containers, old.containerStatuses),
  };
  const { init, apps } = plan.isFinished ? ended(spec, known) : known;
  const ephemeral = containerStatuses(
    input,
    "ephemeral",
    spec.ephemeralContainers ?? [],
    old.ephemeralContainerStatuses,
  );
  const sandbox = currentSandbox({ pod, state });
  const hasInitialized = state.containers.some(
    ({ name, sandbox: id }) => id === sandbox?.id && spec.containers.some((container) => container.name === name),
  );
  const found = phaseOf({ spec, init, apps, isTerminating: plan.isTerminating, hasInitialized });
  const { phase, why, shown: shownPhase } = decidePhase(input, found);
  const conditions = podConditions({
    pod,
    before: old.conditions ?? [],
    phase,
    init,
    apps,
    hasSandbox: sandbox !== undefined,
    isRestartingAll: plan.isRestartingAll,
    resize: input.resize,
    now: input.now,
  });
  const ips = spec.hostNetwork ? input.hostIps : (sandbox?.ips ?? state.sandboxes[0]?.ips ?? []);
  const podIPs = ips.length > 0 ? ips.map((ip) => ({ ip })) : old.podIPs;
  return {
    ...old,
    observedGeneration: pod.metadata.generation,
    phase: shownPhase,
    conditions:
      plan.terminationReason?.reason === "Evicted"
        ? withDisruption(conditions, plan.terminationReason.message, input)
        : conditions,
    message: why?.message || undefined,
    reason: why?.reason,
    hostIP: input.hostIps[0],
    hostIPs: input.hostIps.map((ip) => ({ ip })),
    podIP: podIPs?.[0]?.ip,
    podIPs,
    startTime: old.startTime ?? timeOf(input.acceptedAt),
    initContainerStatuses: init.length > 0 ? init : undefined,
    containerStatuses: apps,
    ephemeralContainerStatuses: ephemeral.length > 0 ? ephemeral : undefined,
    qosClass: old.qosClass ?? qosClassOf(spec),
  };
}

/** Adds the condition by which controllers know that the node caused this failure. */
function withDisruption(
  conditions: readonly PodCondition[],
  message: string,
  { pod, now }: StatusInput,
): PodCondition[] {
  const [type, status] = ["DisruptionTarget", "True"] as const;
  if (conditions.some((condition) => condition.type === type && condition.status === status)) return [...conditions];
  const condition: PodCondition = {
    type,
    status,
    observedGeneration: pod.metadata.generation,
    lastProbeTime: undefined,
    lastTransitionTime: timeOf(now),
    reason: "TerminationByKubelet",
    message,
  };
  return [...conditions.filter((condition) => condition.type !== type), condition];
}

interface PhaseDecision {
  /** The phase that the containers' states amount to. */
  readonly phase: Phase;
  /** The phase that is reported: a terminal phase only when nothing runs any more. */
  readonly shown: Phase;
  readonly why:
    | WaitingReason
    | { readonly reason: string | undefined; readonly message: string | undefined }
    | undefined;
}

function decidePhase({ pod, old, plan }: StatusInput, found: Phase): PhaseDecision {
  const before = terminal(old.phase) ?? terminal(pod.status.phase);
  const phase = before ?? (plan.terminationReason || (plan.isFinished && !terminal(found)) ? "Failed" : found);
  const isHeld = terminal(phase) !== undefined && before === undefined && !plan.isFinished;
  const shown = isHeld ? phaseBefore(old.phase) : phase;
  const kept = { reason: old.reason, message: old.message };
  if (shown === old.phase) return { phase, shown, why: kept };
  return { phase, shown, why: terminal(shown) ? plan.terminationReason : undefined };
}

const terminal = (phase: PodStatus["phase"]): Phase | undefined =>
  phase === "Succeeded" || phase === "Failed" ? phase : undefined;

const phaseBefore = (phase: PodStatus["phase"]): Phase => (phase === "Running" ? "Running" : "Pending");

const gone = "The container could not be located when the pod was terminated";

interface Statuses {
  readonly init: readonly ContainerStatus[];
  readonly apps: readonly ContainerStatus[];
}

/** Nothing runs any more: a container that may have run and is not known to have ended is taken for failed. */
function ended({ initContainers = [] }: PodSpec, { init, apps }: Statuses): Statuses {
  const hasBegun = ({ state, lastState }: ContainerStatus) => !state.waiting || lastState.terminated !== undefined;
  const [last, lastStatus] = [initContainers.at(-1), init.at(-1)];
  const isInitialized =
    !last ||
    apps.some(hasBegun) ||
    (isSidecar(last)
      ? lastStatus?.started === true
      : (lastStatus?.state.terminated ?? lastStatus?.lastState.terminated)?.exitCode === 0);
  const begun = Math.max(0, init.findLastIndex(hasBegun));
  const lose = (status: ContainerStatus) => (status.state.terminated ? status : asLost(status));
  return {
    init: init.map((status, i) => (i > begun ? status : lose(status))),
    apps: isInitialized ? apps.map(lose) : apps,
  };
}

const asLost = (status: ContainerStatus): ContainerStatus => ({
  ...status,
  state: { waiting: undefined, running: undefined, terminated: lost(gone) },
  ready: false,
  started: false,
});

/** The status of a pod that the node does not admit: it has no container statuses. */
export const rejectedStatus = (pod: Pod, { reason, message }: WaitingReason, now: number): PodStatus => ({
  ...pod.status,
  observedGeneration: pod.metadata.generation,
  phase: "Failed",
  reason,
  message: `Pod was rejected: ${message}`,
  conditions: othersConditions(pod),
  startTime: pod.status.startTime ?? timeOf(now),
});
