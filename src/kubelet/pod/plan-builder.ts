// Builds a plan: how containers are started and stopped, and what each of them waits for.
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { formatDuration } from "#base/duration.ts";
import { type ContainerState, hasRun, latest, type SandboxState } from "../runtime.ts";
import { type Delay, nextDelay, observedDelay, restartsWhenKilled, waitsUntil } from "./restart.ts";
import type { ContainerKind, PodAction, PodPlan, PodSyncView, WaitingReason } from "./view.ts";

export class PlanBuilder {
  readonly view: PodSyncView;
  readonly actions: PodAction[] = [];
  #waiting: Map<string, WaitingReason> | undefined;
  wakeAt = Number.POSITIVE_INFINITY;

  constructor(view: PodSyncView) {
    this.view = view;
  }

  wake(at: number): void {
    if (at < this.wakeAt) this.wakeAt = at;
  }

  wait(name: string, why: WaitingReason): void {
    this.#waiting ??= new Map();
    this.#waiting.set(name, why);
  }

  /**
   * Starts a container, or says why that has to wait. A container that an earlier kubelet created is used: the runtime may still be about
   * to start it, and alone knows. Were it removed and made again, it could have run meanwhile. If only its hook is due, that is run, maybe
   * a second time: users are told that hooks run at least once. (Upstream's kubelet forgets it.)
   */
  start(kind: ContainerKind, container: Container, sandbox: SandboxState): void {
    const { view } = this;
    const { name } = container;
    const failure = view.failures.get(name);
    if (view.starting.has(name)) {
      if (failure) this.wait(name, failure.later ?? failure); // until it is known that it went better this time
      return;
    }
    if (failure && view.now < failure.retryAt) {
      const { later } = failure;
      const isLate = later !== undefined && view.now >= later.at;
      this.wait(name, isLate ? later : failure);
      this.wake(later && !isLate ? Math.min(later.at, failure.retryAt) : failure.retryAt);
      return;
    }
    const before = latest(view.state, name);
    const isStarted = before !== undefined && isHookDue(view, before, sandbox);
    const isMade = before?.phase === "created" && before.sandbox === sandbox.id;
    const existing = isMade || isStarted ? before : undefined;
    if (before && !existing && !hasRun(before)) {
      this.discard(before);
      return;
    }
    const hasExited = before?.phase === "exited";
    const delay = view.delays.get(name) ?? (hasExited ? this.#observedDelay(name) : undefined);
    const until = hasExited ? waitsUntil(delay, before.finishedAt, view.now, view.crashDelays) : undefined;
    if (until !== undefined && delay) {
      this.wait(name, { reason: "CrashLoopBackOff", message: backOffMessage(view.pod, name, delay.ms) });
      this.wake(until);
      return;
    }
    this.actions.push({
      type: "startContainer",
      kind,
      container,
      sandbox: sandbox.id,
      attempt: existing?.attempt ?? attemptAfter(before, view.pod, name),
      existing: existing?.id,
      isStarted,
      delay: hasExited ? nextDelay(delay, before.finishedAt, view.now, view.crashDelays) : undefined,
    });
  }

  #observedDelay(name: string): Delay | undefined {
    const { state, crashDelays } = this.view;
    return observedDelay(
      state.containers.filter((container) => container.name === name),
      crashDelays,
    );
  }

  /** Stops a container that runs, with the sidecar order left aside: others go on. */
  stop(state: ContainerState, container: Container, options: StopOptions): void {
    const { view } = this;
    const record = view.stopping.get(state.id);
    const graceMs = record?.graceMs ?? options.graceMs;
    const hook = container.lifecycle?.preStop && graceMs > 0 && state.phase === "running" ? container : undefined;
    if (!record) {
      const { message, restart } = options;
      this.actions.push({ type: "beginStop", id: state.id, name: state.name, graceMs, message, hook, restart });
    }
    const isTold = record ? record.isHookDone : hook === undefined;
    if (isTold && record?.killAt === undefined) {
      const left = (record?.since ?? view.now) + graceMs - view.now;
      this.actions.push({ type: "stopContainer", id: state.id, graceMs: Math.max(left, minGraceMs) });
    }
  }

  discard({ id }: ContainerState): void {
    if (!this.view.removing.has(id)) this.actions.push({ type: "removeContainer", id });
  }

  plan(rest?: Partial<PodPlan>): PodPlan {
    const { actions, wakeAt } = this;
    if (!rest && actions.length === 0 && wakeAt === steady.wakeAt && !this.#waiting) return steady;
    return { ...steady, actions, wakeAt, waiting: this.#waiting ?? steady.waiting, ...rest };
  }
}

/** Nothing to do: what nearly all pods of a cluster share nearly all of the time. */
const steady: PodPlan = {
  actions: [],
  wakeAt: Number.POSITIVE_INFINITY,
  waiting: new Map(),
  isTerminating: false,
  isFinished: false,
  terminationReason: undefined,
  isRestartingAll: false,
};

export interface StopOptions {
  readonly graceMs: number;
  readonly message: string;
  readonly restart: boolean;
}

/** Containers always get a moment to end by themselves. */
export const minGraceMs = 2000;

/** Whether a kubelet before us has started it, and not run its hook to the end. */
export const isHookDue = (
  { stopping }: PodSyncView,
  { id, phase, sandbox, isHookDue: isDue = false }: ContainerState,
  present: SandboxState,
): boolean => isDue && phase === "running" && sandbox === present.id && !stopping.has(id);

/** Why a running container has to go, if it has to. */
export function mustStop(
  view: PodSyncView,
  container: Container,
  state: ContainerState,
  subject: "Container" | "Init container",
): StopOptions | undefined {
  const { pod } = view;
  const graceMs = graceOf(pod);
  const willRestart = subject === "Init container" || restartsWhenKilled(container, pod.spec);
  const stopFor = (why: string, restart: boolean, probeGrace: number | undefined): StopOptions => ({
    graceMs:
      probeGrace === undefined || pod.metadata.deletionGracePeriodSeconds !== undefined ? graceMs : probeGrace * 1000,
    message: restart && subject === "Container" ? `${why}, will be restarted` : why,
    restart,
  });
  if (state.phase === "unknown")
    return stopFor(`${subject} is in "unknown" state, try killing it before restart`, true, undefined);
  if (state.image !== container.image)
    return stopFor(`${subject} ${container.name} definition changed`, true, undefined);
  const probes = view.probes.get(state.id);
  const { livenessProbe, startupProbe } = container;
  if (probes?.liveness === "failure")
    return stopFor(
      `${subject} ${container.name} failed liveness probe`,
      willRestart,
      livenessProbe?.terminationGracePeriodSeconds,
    );
  if (probes?.startup === "failure")
    return stopFor(
      `${subject} ${container.name} failed startup probe`,
      willRestart,
      startupProbe?.terminationGracePeriodSeconds,
    );
  return undefined;
}

/** The grace a container of the pod gets. */
export const graceOf = ({ metadata, spec }: Pod): number =>
  (metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds) * 1000;

export const stopMessage = (name: string): string => `Stopping container ${name}`;

/** A pod in messages: `web_default(uid)`. */
export const podText = ({ metadata }: Pod): string => `${metadata.name}_${metadata.namespace}(${metadata.uid})`;

const backOffMessage = (pod: Pod, name: string, ms: number): string =>
  `back-off ${formatDuration(BigInt(ms) * 1_000_000n)} restarting failed container=${name} pod=${podText(pod)}`;

/** Restarts are counted over all containers of a name, even those that the runtime no longer has: then the status remembers. */
function attemptAfter(before: ContainerState | undefined, { status }: Pod, name: string): number {
  if (before) return before.attempt + 1;
  for (const statuses of [status.containerStatuses, status.initContainerStatuses, status.ephemeralContainerStatuses]) {
    const known = statuses?.find((one) => one.name === name);
    if (known) return known.state.running || known.state.terminated ? known.restartCount + 1 : known.restartCount;
  }
  return 0;
}
