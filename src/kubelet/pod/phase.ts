// The phase of a pod, from the statuses of its containers.
// Upstream: pkg/kubelet/kubelet_pods.go (getPhase).
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { Container } from "#api/core/v1/container.ts";
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { restartsAfter } from "./restart.ts";

export type Phase = "Pending" | "Running" | "Succeeded" | "Failed";

export interface PhaseInput {
  readonly spec: PodSpec;
  readonly init: readonly ContainerStatus[];
  readonly apps: readonly ContainerStatus[];
  /** Whether nothing will be started any more. */
  readonly isTerminating: boolean;
  /** Whether containers have been started in the present sandbox, so that initialization is over. */
  readonly hasInitialized: boolean;
}

export function phaseOf({ spec, init, apps, isTerminating, hasInitialized }: PhaseInput): Phase {
  const initContainers = spec.initContainers ?? [];
  const pairs = initContainers.map((container, i) => ({ container, status: init[i] }));
  const once = pairs.filter(({ container }) => !isSidecar(container));
  const sidecars = pairs.filter(({ container }) => isSidecar(container));
  if (once.some(({ container, status }) => hasFailedForGood(container, spec, status))) return "Failed";
  const isInitPending = once.some(({ status }) => !endOf(status));
  const isSidecarPending = sidecars.some(({ status }) =>
    status?.state.running ? status.started !== true : !endOf(status),
  );
  const isSidecarWaiting = sidecars.some(({ status }) => !status?.state.running && !endOf(status));
  const isAppWaiting = apps.some((status) => !status.state.running && !endOf(status));
  if (isInitPending || (isSidecarPending && !hasInitialized) || isSidecarWaiting || isAppWaiting) return "Pending";
  if (apps.some(({ state }) => state.running) || sidecars.some(({ status }) => status?.state.running)) return "Running";
  if (apps.length === 0) return "Pending";
  const hasSucceeded = apps.every(({ state }) => state.terminated?.exitCode === 0);
  const isBound = spec.containers.some((container, i) => {
    const end = endOf(apps[i]);
    return end !== undefined && isRestartable(container, spec, end);
  });
  if (!isTerminating && isBound) return "Running";
  return hasSucceeded ? "Succeeded" : "Failed";
}

interface End {
  readonly exitCode: number;
  readonly reason?: string | undefined;
}

/** How it ended, if it has: a container that waits for its restart counts as ended. */
const endOf = (status: ContainerStatus | undefined): End | undefined =>
  status?.state.terminated ?? (status?.state.running ? undefined : status?.lastState.terminated);

const isRestartable = (container: Container, spec: PodSpec, { exitCode, reason }: End): boolean =>
  reason === "RestartingAllContainers" || restartsAfter(container, spec, exitCode);

function hasFailedForGood(container: Container, spec: PodSpec, status: ContainerStatus | undefined): boolean {
  const end = endOf(status);
  return end !== undefined && end.exitCode !== 0 && !isRestartable(container, spec, end);
}
