// Changes of container resources while a pod runs: in place, or by a restart where resizePolicy says so.
// Upstream: pkg/kubelet/allocation/allocation_manager.go.
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { Container } from "#api/core/v1/container.ts";
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { type ContainerState, latest, type PodState } from "../runtime.ts";

export type ContainerResources = Container["resources"];

/** How far a change has come, as the pod's conditions tell it. */
export interface ResizeProgress {
  readonly type: "PodResizePending" | "PodResizeInProgress";
  readonly reason?: "Deferred" | "Infeasible" | "Error";
  readonly message?: string;
}

export interface Resize {
  readonly state: ContainerState;
  readonly container: Container;
  /** Whether the container is to be started anew for it. */
  readonly restarts: boolean;
}

export interface ResizeView {
  readonly pod: Pod;
  readonly state: PodState;
  readonly runtimeName: string;
  readonly starting: ReadonlySet<string>;
  readonly stopping: ReadonlyMap<string, unknown>;
  /** What was changed since it was last told, by container id. */
  readonly resized: ReadonlyMap<string, ContainerResources>;
}

/** Containers that run with other resources than their spec says by now. */
export function dueResizes({ pod, state, runtimeName, starting, stopping, resized }: ResizeView): readonly Resize[] {
  const { initContainers = [], containers } = pod.spec;
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status;
  const statuses = new Map([...initContainerStatuses, ...containerStatuses].map((status) => [status.name, status]));
  return [...initContainers.filter(isSidecar), ...containers].flatMap((container) => {
    const { name, resources } = container;
    const current = latest(state, name);
    if (current?.phase !== "running" || starting.has(name) || stopping.has(current.id)) return [];
    const given = givenTo(`${runtimeName}://${current.id}`, statuses.get(name), resized.get(current.id));
    if (given === undefined || equal(given, resources)) return [];
    return [{ state: current, container, restarts: wantsRestart(container, given) }];
  });
}

/** Whether the status says so of the container. */
export const isToldOf = ({ status }: Pod, containerId: string, resources: ContainerResources): boolean =>
  [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].some(
    (told) => told.containerID === containerId && equal(told.resources, resources),
  );

/** Resources that a container was given when it was created or last resized; undefined before the first status: then those of its spec. */
export const givenTo = (
  containerId: string,
  told: ContainerStatus | undefined,
  resized: ContainerResources | undefined,
): ContainerResources | undefined => resized ?? (told?.containerID === containerId ? told.resources : undefined);

const wantsRestart = ({ resources, resizePolicy = [] }: Container, given: ContainerResources): boolean =>
  resizePolicy.some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === "RestartContainer" &&
      (resources.limits?.[resourceName] !== given.limits?.[resourceName] ||
        resources.requests?.[resourceName] !== given.requests?.[resourceName]),
  );

/** What events say a pod is changed to. */
export function resizeSummary({ metadata, spec }: Pod, error?: string): string {
  const summary = (all: readonly Container[]) => all.map(({ name, resources }) => ({ name, resources }));
  const { initContainers = [], containers } = spec;
  return JSON.stringify({
    ...(initContainers.length > 0 && { initContainers: summary(initContainers) }),
    containers: summary(containers),
    generation: metadata.generation,
    ...(error && { error }),
  });
}
