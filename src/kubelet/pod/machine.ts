// What to do next for a pod: a pure function of its spec and of what is observed. It is asked again whenever anything has changed,
// so it never has to remember: a kubelet that was restarted asks with what the runtime has, and goes on.
//
//   sandbox → init containers one by one (sidecars stay) → containers → … → all stopped, sidecars last → sandbox stopped
//
// Its decisions are those of upstream's computePodActions, with one difference: which sandbox a container belongs to is known here, so what
// ran in an earlier sandbox is history and never taken for progress in this one.
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { hasEnded } from "#rules/pods.ts";
import { type ContainerState, hasRun, isLive, latest, type SandboxState } from "../runtime.ts";
import { containersIn } from "./containers.ts";
import { type EndReason, planEnd } from "./end.ts";
import { planInit } from "./init.ts";
import { graceOf, isHookDue, mustStop, PlanBuilder, stopMessage } from "./plan-builder.ts";
import { restartPolicyOf, restartsAfter, restartsAll } from "./restart.ts";
import type { PodPlan, PodSyncView } from "./view.ts";

export function planPod(view: PodSyncView): PodPlan {
  const builder = new PlanBuilder(view);
  const termination = terminationOf(view, builder);
  if (termination) return planEnd(builder, termination);
  if (isRestartingAll(view)) return planRestartOfAll(builder);
  const sandbox = currentSandbox(view);
  if (!sandbox) return planSandbox(builder);
  discardOld(builder, sandbox);
  for (const container of view.pod.spec.ephemeralContainers ?? []) {
    const current = latest(view.state, container.name);
    if (current ? !hasRun(current) : !hasEndedBefore(view.pod, container.name))
      builder.start("ephemeral", container, sandbox);
  }
  const initialized = planInit(builder, sandbox);
  if (initialized === "failed") return planEnd(new PlanBuilder(view), {});
  if (initialized === "busy") return builder.plan();
  return planContainers(builder, sandbox) ? builder.plan() : planEnd(new PlanBuilder(view), {});
}

/** What makes the pod end, if anything does. */
function terminationOf(view: PodSyncView, builder: PlanBuilder): EndReason | undefined {
  const { pod, termination, now, acceptedAt } = view;
  if (termination) return termination;
  const { activeDeadlineSeconds } = pod.spec;
  if (activeDeadlineSeconds !== undefined) {
    const deadline = acceptedAt + activeDeadlineSeconds * 1000;
    if (now >= deadline)
      return {
        reason: "DeadlineExceeded",
        message: "Pod was active on the node longer than the specified deadline",
      };
    builder.wake(deadline);
  }
  if (pod.metadata.deletionTimestamp !== undefined) return {};
  if (hasEnded(pod)) return {};
  return undefined;
}

/** The sandbox in use: the newest, if it is ready and alone in that, and has an address. */
export function currentSandbox({ pod, state }: Pick<PodSyncView, "pod" | "state">): SandboxState | undefined {
  const [newest] = state.sandboxes;
  if (!newest?.isReady || state.sandboxes.some((other) => other !== newest && other.isReady)) return undefined;
  return newest.ips.length > 0 || pod.spec.hostNetwork ? newest : undefined;
}

/** All that was in another sandbox goes, then a new one is made, unless nothing would run in it. */
function planSandbox(builder: PlanBuilder): PodPlan {
  const { view } = builder;
  const { pod, state } = view;
  const [newest] = state.sandboxes;
  if (view.isSandboxBusy) return builder.plan();
  const wouldRun = pod.spec.containers.some((container) => {
    const before = latest(state, container.name);
    return !(
      restartPolicyOf(container, pod.spec) === "OnFailure" &&
      before?.phase === "exited" &&
      before.exitCode === 0
    );
  });
  const isOver =
    (newest !== undefined && state.containers.some(hasRun) && pod.spec.restartPolicy === "Never") ||
    (!wouldRun && pod.spec.containers.some(({ name }) => latest(state, name) !== undefined));
  if (isOver) return planEnd(builder, {});
  for (const name of view.starting) builder.actions.push({ type: "abortStart", name });
  const live = state.containers.filter(isLive);
  for (const container of live) {
    const spec = containersIn(pod.spec).get(container.name);
    if (spec)
      builder.stop(container, spec, { graceMs: graceOf(pod), message: stopMessage(container.name), restart: true });
    else if (!view.stopping.has(container.id))
      builder.actions.push({ type: "stopContainer", id: container.id, graceMs: graceOf(pod) });
  }
  if (live.length > 0 || view.starting.size > 0) return builder.plan();
  const ready = state.sandboxes.find(({ isReady }) => isReady);
  if (ready) builder.actions.push({ type: "stopSandbox", id: ready.id });
  else if (view.now < view.sandboxRetryAt) builder.wake(view.sandboxRetryAt);
  else builder.actions.push({ type: "createSandbox", attempt: newest ? newest.attempt + 1 : 0 });
  return builder.plan();
}

/** Whether any container is there, runs or will: false means that the pod is done. */
function planContainers(builder: PlanBuilder, sandbox: SandboxState): boolean {
  const { view } = builder;
  const { pod, state } = view;
  let isAlive = false;
  for (const container of pod.spec.containers) {
    const { name } = container;
    const current = latest(state, name);
    if (view.starting.has(name) || !current || !hasRun(current) || isHookDue(view, current, sandbox)) {
      builder.start("app", container, sandbox);
      isAlive = true;
    } else if (current.phase === "exited") {
      if (!view.restarting.has(name) && !restartsAfter(container, pod.spec, current.exitCode)) continue;
      builder.start("app", container, sandbox);
      isAlive = true;
    } else {
      isAlive = true;
      const why = view.stopping.has(current.id) ? undefined : mustStop(view, container, current, "Container");
      if (why) builder.stop(current, container, why);
      else if (view.stopping.has(current.id))
        builder.stop(current, container, { graceMs: 0, message: "", restart: false });
    }
  }
  return isAlive;
}

/** Of each name the newest container and the one before are kept: the second is the status' lastState. */
function discardOld(builder: PlanBuilder, sandbox: SandboxState): void {
  const { view } = builder;
  if (view.state.containers.length > 2 || view.state.sandboxes.length > 1) {
    const seen = new Map<string, number>();
    for (const container of view.state.containers) {
      const count = (seen.get(container.name) ?? 0) + 1;
      seen.set(container.name, count);
      if (count > 2 && !isLive(container)) builder.discard(container);
    }
    const inUse = new Set(view.state.containers.map((container) => container.sandbox));
    const unused = view.state.sandboxes.find(({ id }) => id !== sandbox.id && !inUse.has(id));
    if (unused && !view.isSandboxBusy) builder.actions.push({ type: "removeSandbox", id: unused.id });
  }
}

/** Whether a container has ended in a way that starts the whole pod anew. It is removed last, and says so until then. */
function isRestartingAll({ pod, state }: PodSyncView): boolean {
  const { containers, initContainers = [] } = pod.spec;
  return [...initContainers, ...containers].some((container) => {
    if (!container.restartPolicyRules) return false;
    const current = latest(state, container.name);
    return current?.phase === "exited" && restartsAll(container, current.exitCode);
  });
}

/** Everything is stopped and removed, the sandbox stays; then the pod begins again with its first init container. */
function planRestartOfAll(builder: PlanBuilder): PodPlan {
  const { view } = builder;
  const { pod, state } = view;
  const specs = containersIn(pod.spec);
  const isCause = ({ name, phase, exitCode }: ContainerState): boolean => {
    const spec = specs.get(name);
    return spec !== undefined && phase === "exited" && restartsAll(spec, exitCode);
  };
  for (const name of view.starting) builder.actions.push({ type: "abortStart", name });
  const counted = state.containers.filter(({ name }) => specs.has(name) && !isEphemeral(pod, name));
  const others = counted.filter((container) => !isCause(container));
  for (const container of others) {
    const spec = specs.get(container.name);
    if (spec && isLive(container))
      builder.stop(container, spec, { graceMs: graceOf(pod), message: stopMessage(container.name), restart: false });
  }
  if (view.starting.size === 0 && !others.some(isLive))
    for (const container of others.length > 0 ? others : counted) builder.discard(container);
  return builder.plan({ isRestartingAll: true });
}

/** Whether an ephemeral container has ended by what was told of it: it is never started again, though the runtime has forgotten it. */
const hasEndedBefore = ({ status }: Pod, name: string): boolean =>
  status.ephemeralContainerStatuses?.some((one) => one.name === name && one.state.terminated !== undefined) === true;

const isEphemeral = ({ spec }: Pod, name: string): boolean =>
  spec.ephemeralContainers?.some((container) => container.name === name) === true;
