// Plans the end of a pod: preStop hooks, SIGTERM, and SIGKILL after the grace period; sidecars follow the containers they serve, the last
// to start first; then the sandbox goes.
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_termination_order.go and pkg/kubelet/kuberuntime/kuberuntime_container.go.
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { Container } from "#api/core/v1/container.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { type ContainerState, isLive } from "../runtime.ts";
import { containersIn } from "./containers.ts";
import { graceOf, minGraceMs, type PlanBuilder, stopMessage } from "./plan-builder.ts";
import type { PodPlan } from "./view.ts";

export interface EndReason {
  readonly reason?: string;
  readonly message?: string;
  readonly graceSeconds?: number;
}

export function planEnd(builder: PlanBuilder, { reason, message, graceSeconds }: EndReason): PodPlan {
  const { view } = builder;
  const { state, starting, pod } = view;
  const ended = {
    isTerminating: true,
    terminationReason: reason === undefined ? undefined : { reason, message: message ?? "" },
  };
  builder.wakeAt = Number.POSITIVE_INFINITY;
  for (const name of starting) builder.actions.push({ type: "abortStart", name });
  const graceMs = Math.max(1000, graceSeconds === undefined ? graceOf(pod) : graceSeconds * 1000);
  const running = state.containers.filter(isLive);
  if (running.length > 0) {
    stopInOrder(builder, running, graceMs);
    return builder.plan(ended);
  }
  if (starting.size > 0 || view.isSandboxBusy) return builder.plan(ended);
  const ready = state.sandboxes.find(({ isReady }) => isReady);
  if (ready) {
    builder.actions.push({ type: "stopSandbox", id: ready.id });
    return builder.plan(ended);
  }
  return builder.plan({ ...ended, isFinished: true });
}

/** The hooks of all containers run at once; each container is stopped when its turn has come, or when the pod's grace period is over. */
function stopInOrder(builder: PlanBuilder, running: readonly ContainerState[], graceMs: number): void {
  const { view } = builder;
  const { spec } = view.pod;
  const specs = containersIn(spec);
  const names = new Set(running.map(({ name }) => name));
  for (const { id, name, phase } of running) {
    const container = specs.get(name);
    const record = view.stopping.get(id);
    const grace = Math.min(record?.graceMs ?? graceMs, graceMs);
    const killAt = (record?.since ?? view.now) + grace;
    const hook = hookOf(container, phase === "running");
    if (!record)
      builder.actions.push({
        type: "beginStop",
        id,
        name,
        graceMs: grace,
        message: stopMessage(name),
        hook,
        restart: false,
      });
    const isTold = record ? record.isHookDone : hook === undefined;
    const isDue = view.now >= killAt || (isTold && !mustWait(spec, name, names));
    if (!isDue) {
      builder.wake(killAt);
      continue;
    }
    const left = Math.max(killAt - view.now, minGraceMs);
    if (record?.killAt === undefined || record.killAt > view.now + left)
      builder.actions.push({ type: "stopContainer", id, graceMs: left });
  }
}

const hookOf = (container: Container | undefined, hasTime: boolean): Container | undefined =>
  hasTime && container?.lifecycle?.preStop ? container : undefined;

/** Sidecars outlive the containers, and the sidecars that started after them. */
function mustWait({ initContainers = [], containers }: PodSpec, name: string, running: ReadonlySet<string>): boolean {
  const position = initContainers.findIndex((container) => container.name === name && isSidecar(container));
  if (position < 0) return false;
  return (
    containers.some((container) => running.has(container.name)) ||
    initContainers.slice(position + 1).some((container) => isSidecar(container) && running.has(container.name))
  );
}
