// Runs one pod: observes it, asks the pod machine for a plan, and begins the plan's actions (upstream's pkg/kubelet/pod_workers.go). Actions run
// in the background and wake the worker when they are done; so a grace period can be shortened, and a pod deleted, during an image pull.
import { Pod, type PodStatus } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import { backoffMs } from "#base/retry.ts";
import { causeOf, keyOf } from "#client/object-key.ts";
import { hasEnded } from "#rules/pods.ts";
import { millisOf } from "#schema/time.ts";
import type { DoneStep, StepName } from "#wire/steps.ts";
import { HostResourceError } from "./host-resource.ts";
import { withDeviceHealth } from "./pod/device-health.ts";
import { planPod } from "./pod/machine.ts";
import { podText } from "./pod/plan-builder.ts";
import { crashDelays, type Delay } from "./pod/restart.ts";
import { podStatus, rejectedStatus } from "./pod/status.ts";
import type {
  BeginStop,
  PodAction,
  PodPlan,
  ProbeResults,
  StartContainer,
  StartFailure,
  StopProgress,
  Termination,
} from "./pod/view.ts";
import { PodResizer } from "./pod-resizer.ts";
import type { PodsContext, Rejection } from "./pods-context.ts";
import { nothingObserved, type PodState } from "./runtime.ts";
import { StartError, startContainer } from "./start-container.ts";
import { mountDelays } from "./volume-lifecycle.ts";

/** Actions in progress, back-offs and failures of a pod. Most pods have none most of the time. */
class PendingWork {
  isSandboxBusy = false;
  sandboxRetryAt = 0;
  /** How often in a row the host resources could not be prepared. */
  prepareFailures = 0;
  isReleasing = false;
  readonly starting = new Map<string, AbortController>();
  readonly stopping = new Map<string, StopProgress>();
  readonly removing = new Set<string>();
  readonly restarting = new Set<string>();
  readonly delays = new Map<string, Delay>();
  readonly failures = new Map<string, StartFailure>();
  readonly pulls = new Map<string, Delay>();

  get isIdle(): boolean {
    const { starting, stopping, removing, restarting, delays, failures, pulls } = this;
    const parts = [starting, stopping, removing, restarting, delays, failures, pulls];
    const isBusy = this.isSandboxBusy || this.isReleasing;
    return parts.every(({ size }) => size === 0) && !isBusy && this.sandboxRetryAt === 0;
  }
}

/** Shared by all workers without pending work, to save memory. Never changed. */
const noPendingWork = new PendingWork();
const noProbes: ReadonlyMap<string, ProbeResults> = new Map();

const nothingResized: PodResizer["resized"] = new Map();
const sandboxRetryMs = 10_000;
const noSteps: readonly DoneStep[] = [];
const maxSteps = 32;

export class PodWorker {
  readonly uid: string;
  readonly acceptedAt: number;
  readonly node: string;
  pod: Pod;
  /** Whether the pod is no longer in the API, or its manifest is gone. */
  isDeleted = false;
  /** Whether the admission of the pod has been decided. */
  isAdmitted = false;
  /** The status that is being written: the watch may show it before the write has returned. */
  statusInFlight: PodStatus | undefined;
  #state: PodState = nothingObserved;
  #plan: PodPlan | undefined;
  #probes = noProbes;
  #work = noPendingWork;
  #termination: Termination | undefined;
  #resizer: PodResizer | undefined;
  #rejection: Rejection | undefined;
  /** Versions of the pod when it was bound to this node, and when its desired state last changed: the causes of all later writes. */
  readonly #boundVersion: string;
  #desiredVersion: string;
  #steps: readonly DoneStep[] = noSteps;
  /** Whether the host resources have been released. */
  #isReleased = false;
  readonly #context: PodsContext;

  constructor(pod: Pod, context: PodsContext) {
    this.uid = pod.metadata.uid ?? "";
    this.node = pod.spec.nodeName ?? "";
    this.pod = pod;
    this.#boundVersion = pod.metadata.resourceVersion ?? "";
    this.#desiredVersion = this.#boundVersion;
    this.#context = context;
    const { startTime } = pod.status;
    this.acceptedAt = startTime === undefined ? context.clock.now() : millisOf(startTime);
  }

  get state(): PodState {
    return this.#state;
  }

  /** Whether nothing of the pod runs or will run, and its host resources are released. */
  get isFinished(): boolean {
    return this.#plan?.isFinished === true && (this.#isReleased || !this.#context.hasReleasable);
  }

  /**
   * Whether the pod takes some of the node's resources: from its admission until its containers have stopped. This must end no later
   * than the phase says so, since the scheduler gives the room to another pod then; its volumes may be given up later. Before the first
   * look, as after a restart of the kubelet, the pod counts if it was admitted before.
   */
  get usesResources(): boolean {
    if (this.#rejection) return false;
    if (this.#plan) return !this.#plan.isFinished;
    return (this.isAdmitted || this.pod.status.startTime !== undefined) && !hasEnded(this.pod);
  }

  /** Whether the pod is being terminated. */
  get isTerminating(): boolean {
    return this.#termination !== undefined || this.#plan?.isTerminating === true;
  }

  /** Takes over the pod as the API shows it. Returns whether that needs a sync: an echo of the status in flight does not. */
  updatePod(pod: Pod): boolean {
    const isNewer = versionOf(pod) > versionOf(this.pod);
    const isEcho = isNewer && this.statusInFlight !== undefined && isEchoOf(pod, this.pod, this.statusInFlight);
    if (isNewer && hasDesiredStateChanged(this.pod, pod)) this.#desiredVersion = pod.metadata.resourceVersion ?? "";
    if (isNewer && this.#work.failures.size > 0) this.#retryFailedInputs(pod);
    if (versionOf(pod) >= versionOf(this.pod)) this.pod = pod;
    return isNewer && !isEcho;
  }

  /** Labels and annotations may be inputs of a container: a start that failed for want of one is retried at once when they change. */
  #retryFailedInputs({ metadata }: Pod): void {
    const { labels, annotations } = this.pod.metadata;
    if (equal(metadata.labels, labels) && equal(metadata.annotations, annotations)) return;
    const { failures } = this.#work;
    for (const [name, failure] of failures)
      if (failure.reason === "CreateContainerConfigError") failures.set(name, { ...failure, retryAt: 0 });
  }

  /** The causes of what is now written about the pod, as the header `Knarr-Because` has them. */
  get because(): string {
    const { namespace, name } = this.pod.metadata;
    const versions = new Set([this.#boundVersion, this.#desiredVersion]);
    return [...versions].map((version) => causeOf(Pod, keyOf({ namespace, name }), version)).join(",");
  }

  /** Returns and clears the steps since the last status write; the caller restores them if that write fails. */
  drainSteps(): readonly DoneStep[] {
    const steps = this.#steps;
    this.#steps = noSteps;
    return steps;
  }

  restoreSteps(steps: readonly DoneStep[]): void {
    this.#steps = [...steps, ...this.#steps].slice(-maxSteps);
  }

  /** Records a step for `knarr trace`. */
  recordStep(step: StepName, ms: number, container?: string): void {
    const done = { step, at: this.#context.clock.now(), ms, ...(container !== undefined && { container }) };
    this.#steps = [...this.#steps.slice(1 - maxSteps), done];
  }

  /** Terminates the pod for a reason that is not in the API. The first reason wins. */
  terminate(termination: Termination): void {
    this.#termination ??= termination;
  }

  /** The node does not admit the pod. */
  reject(rejection: Rejection): void {
    this.#rejection = rejection;
    this.terminate(rejection);
  }

  /** Observes the pod, plans, and begins the plan's actions. */
  async sync(signal: AbortSignal): Promise<void> {
    const { runtime, clock, probes, timers } = this.#context;
    this.#state = await runtime.observe(this.uid, signal);
    const now = clock.now();
    const probed = probes.results(this.pod, this.#state, now);
    this.#probes = probed.results;
    this.#forgetEnded();
    const work = this.#work;
    const plan = planPod({
      pod: this.pod,
      state: this.#state,
      isSandboxBusy: work.isSandboxBusy,
      sandboxRetryAt: work.sandboxRetryAt,
      starting: keysOf(work.starting),
      stopping: work.stopping,
      removing: work.removing,
      restarting: work.restarting,
      probes: probed.results,
      delays: work.delays,
      failures: work.failures,
      termination: this.#termination ?? (this.isDeleted ? { reason: "", message: "" } : undefined),
      acceptedAt: this.acceptedAt,
      crashDelays,
      now,
    });
    this.#recordBackOffs(plan);
    this.#plan = plan;
    for (const action of plan.actions) this.#begin(action, signal);
    const resizeAt = plan.isTerminating ? Number.POSITIVE_INFINITY : this.#resize(signal);
    if (plan.isFinished) this.#release(signal);
    else if (!plan.isTerminating && this.#state.sandboxes.length > 0)
      for (const resource of this.#context.hostResources) resource.update?.(this.pod);
    timers.set(this, Math.min(plan.wakeAt, probed.wakeAt, resizeAt) - now);
  }

  /** The status of the pod now; undefined before the first sync. */
  status(): PodStatus | undefined {
    const { runtime, clock, nodeOf } = this.#context;
    if (!this.#plan) return undefined;
    if (this.#rejection) return rejectedStatus(this.pod, this.#rejection, clock.now());
    const status = podStatus({
      pod: this.pod,
      old: this.pod.status,
      state: this.#state,
      plan: this.#plan,
      starting: keysOf(this.#work.starting),
      probes: this.#probes,
      runtimeName: runtime.name,
      resized: this.#resizer?.resized ?? nothingResized,
      resize: this.#resizer?.progress,
      hostIps: nodeOf(this.node)?.hostIps ?? [],
      acceptedAt: this.acceptedAt,
      now: clock.now(),
    });
    return withDeviceHealth(this.pod, status, this.#context.hostResources);
  }

  /** Aborts container starts, since the kubelet stops: the next kubelet finds what came of them. */
  abort(reason: unknown): void {
    for (const stop of this.#work.starting.values()) stop.abort(reason);
  }

  /** Ends the back-off after a failure to prepare host resources. Returns whether there was one. */
  skipBackoff(): boolean {
    const work = this.#work;
    if (work.prepareFailures === 0 || work.sandboxRetryAt === 0) return false;
    work.sandboxRetryAt = 0;
    return true;
  }

  /** Removes the containers, sandboxes and host resources of the pod. */
  async removeFromNode(signal: AbortSignal): Promise<void> {
    const { runtime, probes, timers, hostResources } = this.#context;
    timers.delete(this);
    probes.forget(this.uid);
    for (const { id } of this.#state.containers) await runtime.removeContainer(id, signal);
    for (const { id } of this.#state.sandboxes) await runtime.removeSandbox(id, signal);
    for (const resource of hostResources.toReversed()) await resource.remove(this.uid, signal);
  }

  #release(signal: AbortSignal): void {
    const { hostResources, hasReleasable } = this.#context;
    if (this.#isReleased || this.#work.isReleasing || !hasReleasable) return;
    if (this.#work === noPendingWork) this.#work = new PendingWork();
    const work = this.#work;
    work.isReleasing = true;
    const releasing = async () => {
      for (const resource of hostResources.toReversed()) await resource.release?.(this.pod, signal);
      this.#isReleased = true;
    };
    this.#runInBackground(releasing(), () => {
      work.isReleasing = false;
    });
  }

  #begin(action: PodAction, signal: AbortSignal): void {
    const { runtime } = this.#context;
    if (this.#work === noPendingWork) this.#work = new PendingWork();
    const work = this.#work;
    switch (action.type) {
      case "createSandbox":
        this.#changeSandbox(() => this.#context.starts.run(() => this.#createSandbox(action.attempt, signal), signal));
        break;
      case "stopSandbox":
        this.#changeSandbox(() => runtime.stopSandbox(action.id, signal));
        break;
      case "removeSandbox":
        this.#changeSandbox(() => runtime.removeSandbox(action.id, signal));
        break;
      case "startContainer":
        this.#start(action);
        break;
      case "abortStart":
        work.starting.get(action.name)?.abort(new Error("the pod ends"));
        break;
      case "beginStop":
        this.#beginStop(action, signal);
        break;
      case "stopContainer":
        this.#stop(action.id, action.graceMs, signal);
        break;
      case "removeContainer":
        work.removing.add(action.id);
        this.#runInBackground(runtime.removeContainer(action.id, signal), () => work.removing.delete(action.id));
    }
  }

  #changeSandbox(run: () => Promise<unknown>): void {
    const work = this.#work;
    work.isSandboxBusy = true;
    this.#runInBackground(run(), () => {
      work.isSandboxBusy = false;
    });
  }

  async #createSandbox(attempt: number, signal: AbortSignal): Promise<void> {
    if (this.isTerminating) return; // while it waited for the semaphore
    const { runtime, clock } = this.#context;
    const work = this.#work;
    try {
      await this.#prepareHostResources(signal);
      work.prepareFailures = 0;
    } catch (error) {
      if (signal.aborted || !(error instanceof HostResourceError)) throw error;
      work.sandboxRetryAt = clock.now() + backoffMs(mountDelays, work.prepareFailures++);
      if (error.reason) this.#event("Warning", error.reason, error.message);
      return;
    }
    if (attempt > 0) this.#event("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
    try {
      const start = clock.elapsed();
      await runtime.runSandbox({ pod: this.pod, attempt }, signal);
      this.recordStep("sandbox", clock.elapsed() - start);
      work.sandboxRetryAt = 0;
    } catch (error) {
      if (signal.aborted) throw error;
      work.sandboxRetryAt = clock.now() + sandboxRetryMs;
      this.#event("Warning", "FailedCreatePodSandBox", `Failed to create pod sandbox: ${explain(error)}`);
    }
  }

  /** In parallel. Waits for all of them even if one fails: the next action may be to remove them. */
  async #prepareHostResources(signal: AbortSignal): Promise<void> {
    const made = await Promise.allSettled(
      this.#context.hostResources.map((resource) => resource.prepare?.(this.pod, signal)),
    );
    for (const one of made) if (one.status === "rejected") throw one.reason;
  }

  #start(action: StartContainer): void {
    const work = this.#work;
    const { name } = action.container;
    const stop = new AbortController();
    work.starting.set(name, stop);
    if (action.delay) work.delays.set(name, action.delay);
    const recordStep = (step: StepName, ms: number) => this.recordStep(step, ms, name);
    const done = startContainer(
      action,
      { pod: this.pod, pulls: work.pulls, recordStep },
      this.#context,
      stop.signal,
    ).then(
      () => {
        work.failures.delete(name);
        work.restarting.delete(name);
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        if (!(error instanceof StartError)) throw error;
        work.failures.set(name, error.failure);
      },
    );
    this.#runInBackground(done, () => work.starting.delete(name));
  }

  #beginStop({ id, name, graceMs, message, hook, restart }: BeginStop, signal: AbortSignal): void {
    const { clock, hooks } = this.#context;
    const work = this.#work;
    if (restart) work.restarting.add(name);
    this.#event("Normal", "Killing", message, name);
    const record: StopProgress = { since: clock.now(), graceMs, isHookDone: hook === undefined, killAt: undefined };
    work.stopping.set(id, record);
    const handler = hook?.lifecycle?.preStop;
    if (!hook || !handler) return;
    const hookRun = hooks
      .run({ pod: this.pod, container: hook, id, handler, timeoutMs: graceMs }, signal)
      .catch((error) => {
        if (signal.aborted) throw error;
        this.#event("Warning", "FailedPreStopHook", "PreStopHook failed", name);
      });
    this.#runInBackground(hookRun, () => {
      const present = work.stopping.get(id);
      if (present) work.stopping.set(id, { ...present, isHookDone: true });
    });
  }

  /** Resizes running containers as their spec says. Returns when to sync again. */
  #resize(signal: AbortSignal): number {
    if ((this.pod.metadata.generation ?? 1) === 1) return Number.POSITIVE_INFINITY;
    const { starting, stopping } = this.#work;
    this.#resizer ??= this.#newResizer(signal);
    return this.#resizer.sync({ pod: this.pod, state: this.#state, starting: keysOf(starting), stopping }, signal);
  }

  #newResizer(signal: AbortSignal): PodResizer {
    const host = {
      refusal: () => this.#context.resizeRefusal(this),
      event: (type: "Normal" | "Warning", reason: string, message: string) => this.#event(type, reason, message),
      beginStop: (stop: BeginStop) => this.#begin(stop, signal),
      go: (work: Promise<void>) => this.#runInBackground(work, () => undefined),
    };
    return new PodResizer(this.#context, host, this.pod);
  }

  #stop(id: string, graceMs: number, signal: AbortSignal): void {
    const { runtime, clock } = this.#context;
    const work = this.#work;
    const now = clock.now();
    const record = work.stopping.get(id) ?? { since: now, graceMs, isHookDone: true, killAt: undefined };
    work.stopping.set(id, { ...record, killAt: now + graceMs });
    this.#runInBackground(runtime.stopContainer(id, graceMs, signal), () => undefined);
  }

  /** Runs work in the background, and syncs the pod when it is over. Failed work is planned again. */
  #runInBackground(work: Promise<unknown>, after: () => void): void {
    const { wake, log, retryLater } = this.#context;
    work.then(
      () => {
        after();
        wake(this);
      },
      (error: unknown) => {
        after();
        log.warn("work on a pod failed", { pod: podText(this.pod), node: this.node, error });
        retryLater(this);
      },
    );
  }

  /** Containers that have ended need no more stopping; their back-off counts from then on. */
  #forgetEnded(): void {
    const work = this.#work;
    if (work === noPendingWork) return;
    for (const id of work.stopping.keys()) {
      const phase = this.#state.containers.find((container) => container.id === id)?.phase;
      if (phase === undefined || phase === "exited") work.stopping.delete(id);
    }
    if (work.isIdle) this.#work = noPendingWork;
  }

  #recordBackOffs(plan: PodPlan): void {
    for (const [name, { reason, message }] of plan.waiting) {
      if (this.#plan?.waiting.get(name)?.reason === reason) continue;
      if (reason === "CrashLoopBackOff")
        this.#event(
          "Warning",
          "BackOff",
          `Back-off restarting failed container ${name} in pod ${podText(this.pod)}`,
          name,
        );
      if (reason === "ImagePullBackOff") {
        this.#event("Normal", "BackOff", message.split(": ")[0] ?? message, name);
        this.#event("Warning", "Failed", "Error: ImagePullBackOff", name);
      }
    }
  }

  #event(type: "Normal" | "Warning", reason: string, message: string, container?: string): void {
    this.#context.event(this.pod, type, reason, message, container);
  }
}

/** Whether the spec has changed or the pod was deleted; labels and status are no desired state. */
const hasDesiredStateChanged = ({ metadata: before }: Pod, { metadata: after }: Pod): boolean =>
  before.generation !== after.generation || before.deletionTimestamp !== after.deletionTimestamp;

/** Whether the pod differs from `before` only by this status. */
function isEchoOf(pod: Pod, before: Pod, status: PodStatus): boolean {
  const lasting = ({ metadata }: Pod) => ({ ...metadata, resourceVersion: undefined, managedFields: undefined });
  return !hasDesiredStateChanged(before, pod) && equal(pod.status, status) && equal(lasting(pod), lasting(before));
}

const versionOf = ({ metadata }: Pod): number => Number(metadata.resourceVersion);

const noKeys: ReadonlySet<string> = new Set();
const keysOf = (map: ReadonlyMap<string, unknown>): ReadonlySet<string> =>
  map.size === 0 ? noKeys : new Set(map.keys());
