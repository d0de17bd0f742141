// Init containers: one after another, each to its end; sidecars only to their start, and then kept running.
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go (computeInitContainerActions).
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { Container } from "#api/core/v1/container.ts";
import { type ContainerState, isLive, latest, type SandboxState } from "../runtime.ts";
import { isHookDue, mustStop, type PlanBuilder } from "./plan-builder.ts";
import { restartsAfter } from "./restart.ts";

/** Whether the containers may start: not yet, now, or never. */
export function planInit(builder: PlanBuilder, sandbox: SandboxState): "busy" | "done" | "failed" {
  const { view } = builder;
  const { pod, state } = view;
  const containers = pod.spec.initContainers ?? [];
  if (containers.length === 0) return "done";
  const inSandbox = (name: string): ContainerState | undefined => {
    const current = latest(state, name);
    return current?.sandbox === sandbox.id ? current : undefined;
  };
  const isBegun = (name: string): boolean => inSandbox(name) !== undefined || view.starting.has(name);
  if (pod.spec.containers.some(({ name }) => isBegun(name))) {
    for (const container of containers)
      if (isSidecar(container)) keep(builder, container, sandbox, inSandbox(container.name));
    return "done";
  }
  // What has ended may have been removed; so the last that was begun tells how far it got.
  const position = containers.findLastIndex(({ name }) => isBegun(name));
  for (const container of containers.slice(0, Math.max(position, 0)))
    if (isSidecar(container)) keep(builder, container, sandbox, inSandbox(container.name));
  for (let i = Math.max(position, 0); i < containers.length; i++) {
    const container = containers[i];
    if (!container) break;
    const outcome = isSidecar(container)
      ? keep(builder, container, sandbox, inSandbox(container.name))
      : runOnce(builder, container, sandbox, inSandbox(container.name));
    if (outcome !== "done") return outcome;
  }
  return "done";
}

/** A sidecar is done when it has started; if it ends it is started again. */
function keep(
  builder: PlanBuilder,
  container: Container,
  sandbox: SandboxState,
  current: ContainerState | undefined,
): "busy" | "done" {
  const { view } = builder;
  const isStarting = view.starting.has(container.name);
  if (isStarting || !current || !isLive(current) || isHookDue(view, current, sandbox)) {
    builder.start("init", container, sandbox);
    return "busy";
  }
  const why = mustStop(view, container, current, "Init container");
  if (why || view.stopping.has(current.id)) {
    builder.stop(current, container, why ?? { graceMs: 0, message: "", restart: true });
    return "busy";
  }
  return container.startupProbe && view.probes.get(current.id)?.startup !== "success" ? "busy" : "done";
}

function runOnce(
  builder: PlanBuilder,
  container: Container,
  sandbox: SandboxState,
  current: ContainerState | undefined,
): "busy" | "done" | "failed" {
  const { view } = builder;
  const isStarting = view.starting.has(container.name);
  if (current?.phase === "running" && !isStarting) return "busy";
  if (current?.phase === "unknown" && !isStarting) {
    const why = mustStop(view, container, current, "Init container");
    if (why) builder.stop(current, container, why);
    return "busy";
  }
  if (current?.phase === "exited" && !isStarting) {
    if (current.exitCode === 0) return "done";
    if (!view.restarting.has(container.name) && !restartsAfter(container, view.pod.spec, current.exitCode))
      return "failed";
  }
  builder.start("init", container, sandbox);
  return "busy";
}
