// The status of each container: from what the runtime has, from what keeps it waiting, and from the status before.
// Upstream: pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses).
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { Container, VolumeMount } from "#api/core/v1/container.ts";
import type { ContainerStateTerminated, ContainerStatus, VolumeMountStatus } from "#api/core/v1/container-status.ts";
import { timeOf } from "#schema/time.ts";
import type { ContainerState } from "../runtime.ts";
import { givenTo } from "./resize.ts";
import type { StatusInput } from "./status.ts";
import type { ContainerKind } from "./view.ts";

type State = ContainerStatus["state"];

export function containerStatuses(
  input: StatusInput,
  kind: ContainerKind,
  containers: readonly Container[],
  before: readonly ContainerStatus[] | undefined,
): ContainerStatus[] {
  return containers.map((container) => {
    const old = before?.find(({ name }) => name === container.name);
    return statusOf(input, kind, container, old);
  });
}

function statusOf(
  input: StatusInput,
  kind: ContainerKind,
  container: Container,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const { name } = container;
  const isStarting = input.starting.has(name);
  const seen: ContainerState[] = [];
  for (const one of input.state.containers)
    if (one.name === name && !(isStarting && (one.phase === "created" || one.phase === "running"))) seen.push(one);
  const [current, previous] = seen;
  if (!current) return withProbes(input, kind, container, undefined, missing(input, kind, container, old));
  const state = stateOf(input, current, old);
  const given = givenTo(idOf(input, current), old, input.resized.get(current.id)) ?? container.resources;
  const isPending = input.resize?.type === "PodResizePending";
  const lastState = previous ? stateOf(input, previous, undefined) : remembered(input, current, old);
  const reported: ContainerStatus = {
    name,
    state,
    lastState,
    ready: false,
    restartCount: Math.max(current.attempt, old?.restartCount ?? 0),
    image: current.image,
    imageID: current.imageId,
    containerID: idOf(input, current),
    started: undefined,
    allocatedResources: isPending ? given.requests : container.resources.requests,
    resources: given,
    volumeMounts: old?.volumeMounts ?? mountsOf(container),
    user: undefined,
    allocatedResourcesStatus: undefined,
    stopSignal: undefined,
  };
  return withProbes(input, kind, container, current, held(input, current, reported));
}

const idOf = ({ runtimeName }: StatusInput, { id }: ContainerState): string => `${runtimeName}://${id}`;

function stateOf(input: StatusInput, container: ContainerState, old: ContainerStatus | undefined): State {
  const { phase, startedAt, finishedAt, exitCode, reason, message } = container;
  if (phase === "running") return only({ running: { startedAt: timeOf(startedAt) } });
  if (phase === "exited")
    return only({
      terminated: {
        exitCode,
        signal: undefined,
        reason,
        message: message || undefined,
        startedAt: startedAt === 0 ? undefined : timeOf(startedAt),
        finishedAt: timeOf(finishedAt),
        containerID: idOf(input, container),
      },
    });
  if (phase === "unknown" && old?.state.running)
    return only({ terminated: lost("The container could not be located when the pod was terminated") });
  return only({ waiting: { reason: undefined, message: undefined } });
}

function only(state: Partial<State>): State {
  return { waiting: undefined, running: undefined, terminated: undefined, ...state };
}

const noState: State = only({});

/** The end of a container of which the runtime knows nothing. */
export const lost = (message: string, reason = "ContainerStatusUnknown"): ContainerStateTerminated => ({
  exitCode: 137,
  signal: undefined,
  reason,
  message,
  startedAt: undefined,
  finishedAt: undefined,
  containerID: undefined,
});

/** How the run before ended, where only an earlier status knows. */
function remembered(input: StatusInput, current: ContainerState, old: ContainerStatus | undefined): State {
  if (!old) return noState;
  const isOther = old.containerID !== idOf(input, current);
  return isOther && old.state.terminated ? only({ terminated: old.state.terminated }) : old.lastState;
}

/** A container the runtime has nothing of: it was not started yet, or is gone. */
function missing(
  input: StatusInput,
  kind: ContainerKind,
  container: Container,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const { pod, plan } = input;
  const base = waitingStatus(input, container, old);
  if (!old) return base;
  if (plan.isRestartingAll && !old.state.waiting) {
    const message = "The container is removed because RestartAllContainers in place";
    const reason = "RestartingAllContainers";
    return {
      ...base,
      state: only({ waiting: { reason, message } }),
      lastState: only({ terminated: lost(message, reason) }),
      restartCount: old.restartCount + 1,
    };
  }
  if (old.state.terminated) return plan.waiting.has(container.name) ? { ...base, lastState: old.state } : old;
  if (!old.state.running || input.starting.has(container.name)) return base;
  if (kind === "init" && !isSidecar(container) && hasCreatedApp(input))
    return {
      ...base,
      state: only({
        terminated: {
          ...lost(
            "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
            "Completed",
          ),
          exitCode: 0,
        },
      }),
    };
  if (old.lastState.terminated) return base;
  return {
    ...base,
    lastState: only({
      terminated: lost(
        "The container could not be located when the pod was deleted.  The container used to be Running",
      ),
    }),
    restartCount: old.restartCount + (pod.metadata.deletionTimestamp === undefined ? 1 : 0),
  };
}

const waitingStatus = (
  input: StatusInput,
  container: Container,
  old: ContainerStatus | undefined,
): ContainerStatus => ({
  name: container.name,
  state: waitingState(input, container.name),
  lastState: old?.lastState ?? noState,
  ready: false,
  restartCount: old?.restartCount ?? 0,
  image: container.image ?? "",
  imageID: "",
  containerID: undefined,
  started: undefined,
  allocatedResources: undefined,
  resources: undefined,
  volumeMounts: mountsOf(container),
  user: undefined,
  allocatedResourcesStatus: undefined,
  stopSignal: undefined,
});

const hasCreatedApp = ({ pod, state }: StatusInput): boolean =>
  pod.spec.containers.some(({ name }) => state.containers.some((one) => one.name === name));

function waitingState({ pod, plan }: StatusInput, name: string): State {
  const why = plan.waiting.get(name);
  const hasInit = (pod.spec.initContainers ?? []).length > 0;
  return only({
    waiting: why
      ? { reason: why.reason, message: why.message || undefined }
      : { reason: hasInit ? "PodInitializing" : "ContainerCreating", message: undefined },
  });
}

/** A container that will be started again and is kept from it waits, whatever became of its last run. */
function held({ plan }: StatusInput, current: ContainerState, reported: ContainerStatus): ContainerStatus {
  const why = plan.waiting.get(reported.name);
  if (!why || current.phase === "running") return reported;
  return {
    ...reported,
    state: only({ waiting: { reason: why.reason, message: why.message || undefined } }),
    lastState: reported.state.terminated ? reported.state : reported.lastState,
  };
}

/** Whether it has started and is ready, by its probes. */
function withProbes(
  { probes, starting }: StatusInput,
  kind: ContainerKind,
  container: Container,
  current: ContainerState | undefined,
  reported: ContainerStatus,
): ContainerStatus {
  if (kind === "ephemeral") return reported;
  const results = current && probes.get(current.id);
  const isRunning = reported.state.running !== undefined && !starting.has(reported.name);
  const started = isRunning && (container.startupProbe === undefined || results?.startup === "success");
  const isReady = started && (container.readinessProbe === undefined || results?.readiness === "success");
  const hasSucceeded = kind === "init" && !isSidecar(container) && reported.state.terminated?.exitCode === 0;
  const ready = kind === "init" && !isSidecar(container) ? hasSucceeded : isReady;
  return reported.started === started && reported.ready === ready ? reported : { ...reported, started, ready };
}

function mountsOf({ volumeMounts }: Container): VolumeMountStatus[] | undefined {
  return volumeMounts?.map(({ name, mountPath, readOnly, recursiveReadOnly }: VolumeMount) => ({
    name,
    mountPath,
    readOnly,
    recursiveReadOnly: readOnly ? (recursiveReadOnly === "Enabled" ? "Enabled" : "Disabled") : undefined,
    volumeStatus: undefined,
  }));
}
