// One pod on its node: asks the machine what to do, and does it. Whatever takes time goes on beside the worker, which is woken when it
// is over; so a grace period can be shortened, and a pod deleted, while an image is being pulled.
import { Pod, type PodStatus } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import { backoffMs } from "#base/retry.ts";
import { causeOf, keyOf } from "#client/place.ts";
import { hasEnded } from "#rules/pods.ts";
import { millisOf } from "#schema/time.ts";
import type { DoneStep, StepName } from "#wire/steps.ts";
import { GroundError } from "./grounds.ts";
import { podText } from "./pod/draft.ts";
import { planPod } from "./pod/machine.ts";
import { crashDelays, type Delay } from "./pod/restart.ts";
import { podStatus, rejectedStatus } from "./pod/status.ts";
import type {
  Action,
  BeginStop,
  Ending,
  Plan,
  ProbeResults,
  StartContainer,
  StartFailure,
  Stopping,
} from "./pod/view.ts";
import { PodResizer } from "./pod-resizer.ts";
import type { PodsContext, Rejection } from "./pods.ts";
import { nothingObserved, type PodState } from "./runtime.ts";
import { StartError, startContainer } from "./start-container.ts";
import { mountDelays } from "./volume-ground.ts";

/** What goes on around a pod. Most pods of a node have nothing of it most of the time. */
class Work {
  isSandboxBusy = false;
  sandboxRetryAt = 0;
  /** How often what the pod stands on could not be made. */
  groundFailures = 0;
  isReleasing = false;
  readonly starting = new Map<string, AbortController>();
  readonly stopping = new Map<string, Stopping>();
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

/** What all workers share that have no work. Never changed. */
const noWork = new Work();
const noProbes: ReadonlyMap<string, ProbeResults> = new Map();

const nothingResized: PodResizer["resized"] = new Map();
const sandboxRetryMs = 10_000;
const noSteps: readonly DoneStep[] = [];
const mostSteps = 32;

export class PodWorker {
  readonly uid: string;
  readonly acceptedAt: number;
  readonly node: string;
  pod: Pod;
  /** Whether the API no longer has the pod. */
  isGone = false;
  /** Whether the node has decided if it takes the pod. */
  isAdmitted = false;
  /** The status that is being written: a watch may show it before the write is answered. */
  telling: PodStatus | undefined;
  #state: PodState = nothingObserved;
  #plan: Plan | undefined;
  #probes = noProbes;
  #work = noWork;
  #ending: Ending | undefined;
  #resizer: PodResizer | undefined;
  #rejection: Rejection | undefined;
  /** The pod as it was when it came to this node, and when it was last asked for something else: what all this is done for. */
  readonly #boundVersion: string;
  #askedVersion: string;
  #steps: readonly DoneStep[] = noSteps;
  /** Whether what the pod stood on was given up. */
  #isReleased = false;
  readonly #context: PodsContext;

  constructor(pod: Pod, context: PodsContext) {
    this.uid = pod.metadata.uid ?? "";
    this.node = pod.spec.nodeName ?? "";
    this.pod = pod;
    this.#boundVersion = pod.metadata.resourceVersion ?? "";
    this.#askedVersion = this.#boundVersion;
    this.#context = context;
    const { startTime } = pod.status;
    this.acceptedAt = startTime === undefined ? context.clock.now() : millisOf(startTime);
  }

  get state(): PodState {
    return this.#state;
  }

  /** Whether nothing of the pod runs any more, nor will, and it holds nothing of the node any more. */
  get isFinished(): boolean {
    return this.#plan?.isFinished === true && (this.#isReleased || !this.#context.doesRelease);
  }

  /**
   * Whether the pod takes some of the node's resources: from its admission until its containers have stopped. This must end no later
   * than the phase says so, since the scheduler gives the room to another pod then; its volumes may be given up later. Before the first
   * look, as after a restart of the kubelet, the pod counts if it was admitted before.
   */
  get takesResources(): boolean {
    if (this.#rejection) return false;
    if (this.#plan) return !this.#plan.isFinished;
    return (this.isAdmitted || this.pod.status.startTime !== undefined) && !hasEnded(this.pod);
  }

  /** Whether it was decided that the pod ends. */
  get isEnding(): boolean {
    return this.#ending !== undefined || this.#plan?.isEnding === true;
  }

  /** The pod as the API shows it; whether there is anything new in that. What is being told of it is none. */
  saw(pod: Pod): boolean {
    const isNewer = versionOf(pod) > versionOf(this.pod);
    const isEcho = isNewer && this.telling !== undefined && isShownAs(pod, this.pod, this.telling);
    if (isNewer && isOtherwiseAsked(this.pod, pod)) this.#askedVersion = pod.metadata.resourceVersion ?? "";
    if (isNewer && this.#work.failures.size > 0) this.#retryInputs(pod);
    if (versionOf(pod) >= versionOf(this.pod)) this.pod = pod;
    return isNewer && !isEcho;
  }

  /** Labels and annotations may be inputs of a container: what failed for want of one is tried at once when they have changed. */
  #retryInputs({ metadata }: Pod): void {
    const { labels, annotations } = this.pod.metadata;
    if (equal(metadata.labels, labels) && equal(metadata.annotations, annotations)) return;
    const { failures } = this.#work;
    for (const [name, failure] of failures)
      if (failure.reason === "CreateContainerConfigError") failures.set(name, { ...failure, retryAt: 0 });
  }

  /** What led to whatever the node now tells of the pod, as `Knarr-Because` has it. */
  get because(): string {
    const { namespace, name } = this.pod.metadata;
    const versions = new Set([this.#boundVersion, this.#askedVersion]);
    return [...versions].map((version) => causeOf(Pod, keyOf({ namespace, name }), version)).join(",");
  }

  /** What was done since it was last told; the teller gives back what could not be told. */
  takeSteps(): readonly DoneStep[] {
    const steps = this.#steps;
    this.#steps = noSteps;
    return steps;
  }

  giveBackSteps(steps: readonly DoneStep[]): void {
    this.#steps = [...steps, ...this.#steps].slice(-mostSteps);
  }

  /** Takes note of something that was done, or has happened, for whoever reads a trace. */
  did(step: StepName, ms: number, container?: string): void {
    const done = { step, at: this.#context.clock.now(), ms, ...(container !== undefined && { container }) };
    this.#steps = [...this.#steps.slice(1 - mostSteps), done];
  }

  /** Ends the pod for a reason that is not in the API. The first reason counts. */
  end(ending: Ending): void {
    this.#ending ??= ending;
  }

  /** The node does not take the pod. */
  reject(rejection: Rejection): void {
    this.#rejection = rejection;
    this.end(rejection);
  }

  /** Looks, plans, begins what is to be done. */
  async sync(signal: AbortSignal): Promise<void> {
    const { runtime, clock, probes, alarm } = this.#context;
    this.#state = await runtime.observe(this.uid, signal);
    const now = clock.now();
    const found = probes.results(this.pod, this.#state, now);
    this.#probes = found.results;
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
      probes: found.results,
      delays: work.delays,
      failures: work.failures,
      ending: this.#ending ?? (this.isGone ? { reason: "", message: "" } : undefined),
      acceptedAt: this.acceptedAt,
      crashDelays,
      now,
    });
    this.#tellBackOffs(plan);
    this.#plan = plan;
    for (const action of plan.actions) this.#begin(action, signal);
    const resizeAt = plan.isEnding ? Number.POSITIVE_INFINITY : this.#resize(signal);
    if (plan.isFinished) this.#release(signal);
    else if (!plan.isEnding && this.#state.sandboxes.length > 0)
      for (const ground of this.#context.grounds) ground.keep?.(this.pod);
    alarm.set(this, Math.min(plan.wakeAt, found.wakeAt, resizeAt) - now);
  }

  /** What there is to tell of the pod now; undefined before the first look. */
  status(): PodStatus | undefined {
    const { runtime, clock, nodeOf } = this.#context;
    if (!this.#plan) return undefined;
    if (this.#rejection) return rejectedStatus(this.pod, this.#rejection, clock.now());
    return podStatus({
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
  }

  /** Gives up what is being started, since the kubelet stops: the next one finds what came of it. */
  abort(reason: unknown): void {
    for (const stop of this.#work.starting.values()) stop.abort(reason);
  }

  /** Whether it waited to try again what it stands on; it does no longer. */
  stopWaiting(): boolean {
    const work = this.#work;
    if (work.groundFailures === 0 || work.sandboxRetryAt === 0) return false;
    work.sandboxRetryAt = 0;
    return true;
  }

  /** Takes away all that there still is of the pod. */
  async clear(signal: AbortSignal): Promise<void> {
    const { runtime, probes, alarm, grounds } = this.#context;
    alarm.delete(this);
    probes.forget(this.uid);
    for (const { id } of this.#state.containers) await runtime.removeContainer(id, signal);
    for (const { id } of this.#state.sandboxes) await runtime.removeSandbox(id, signal);
    for (const ground of grounds.toReversed()) await ground.remove(this.uid, signal);
  }

  #release(signal: AbortSignal): void {
    const { grounds, doesRelease } = this.#context;
    if (this.#isReleased || this.#work.isReleasing || !doesRelease) return;
    if (this.#work === noWork) this.#work = new Work();
    const work = this.#work;
    work.isReleasing = true;
    const releasing = async () => {
      for (const ground of grounds.toReversed()) await ground.release?.(this.pod, signal);
      this.#isReleased = true;
    };
    this.#go(releasing(), () => {
      work.isReleasing = false;
    });
  }

  #begin(action: Action, signal: AbortSignal): void {
    const { runtime } = this.#context;
    if (this.#work === noWork) this.#work = new Work();
    const work = this.#work;
    switch (action.type) {
      case "createSandbox":
        this.#withSandbox(() => this.#context.entry.pass(() => this.#createSandbox(action.attempt, signal), signal));
        break;
      case "stopSandbox":
        this.#withSandbox(() => runtime.stopSandbox(action.id, signal));
        break;
      case "removeSandbox":
        this.#withSandbox(() => runtime.removeSandbox(action.id, signal));
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
        this.#go(runtime.removeContainer(action.id, signal), () => work.removing.delete(action.id));
    }
  }

  #withSandbox(run: () => Promise<unknown>): void {
    const work = this.#work;
    work.isSandboxBusy = true;
    this.#go(run(), () => {
      work.isSandboxBusy = false;
    });
  }

  async #createSandbox(attempt: number, signal: AbortSignal): Promise<void> {
    if (this.isEnding) return; // since it came to the entry
    const { runtime, clock } = this.#context;
    const work = this.#work;
    try {
      await this.#prepareGrounds(signal);
      work.groundFailures = 0;
    } catch (error) {
      if (signal.aborted || !(error instanceof GroundError)) throw error;
      work.sandboxRetryAt = clock.now() + backoffMs(mountDelays, work.groundFailures++);
      this.#event("Warning", error.reason, error.message);
      return;
    }
    if (attempt > 0) this.#event("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
    try {
      const start = clock.elapsed();
      await runtime.runSandbox({ pod: this.pod, attempt }, signal);
      this.did("sandbox", clock.elapsed() - start);
      work.sandboxRetryAt = 0;
    } catch (error) {
      if (signal.aborted) throw error;
      work.sandboxRetryAt = clock.now() + sandboxRetryMs;
      this.#event("Warning", "FailedCreatePodSandBox", `Failed to create pod sandbox: ${explain(error)}`);
    }
  }

  /** All at once. Whatever fails, nothing is still being made when this is over: what comes next may be to remove it. */
  async #prepareGrounds(signal: AbortSignal): Promise<void> {
    const made = await Promise.allSettled(this.#context.grounds.map((ground) => ground.prepare?.(this.pod, signal)));
    for (const one of made) if (one.status === "rejected") throw one.reason;
  }

  #start(action: StartContainer): void {
    const work = this.#work;
    const { name } = action.container;
    const stop = new AbortController();
    work.starting.set(name, stop);
    if (action.delay) work.delays.set(name, action.delay);
    const did = (step: StepName, ms: number) => this.did(step, ms, name);
    const done = startContainer(action, { pod: this.pod, pulls: work.pulls, did }, this.#context, stop.signal).then(
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
    this.#go(done, () => work.starting.delete(name));
  }

  #beginStop({ id, name, graceMs, message, hook, restart }: BeginStop, signal: AbortSignal): void {
    const { clock, hooks } = this.#context;
    const work = this.#work;
    if (restart) work.restarting.add(name);
    this.#event("Normal", "Killing", message, name);
    const record: Stopping = { since: clock.now(), graceMs, isHookDone: hook === undefined, killAt: undefined };
    work.stopping.set(id, record);
    const handler = hook?.lifecycle?.preStop;
    if (!hook || !handler) return;
    const told = hooks
      .run({ pod: this.pod, container: hook, id, handler, timeoutMs: graceMs }, signal)
      .catch((error) => {
        if (signal.aborted) throw error;
        this.#event("Warning", "FailedPreStopHook", "PreStopHook failed", name);
      });
    this.#go(told, () => {
      const present = work.stopping.get(id);
      if (present) work.stopping.set(id, { ...present, isHookDone: true });
    });
  }

  /** Gives containers that run what their spec says by now; when to look again. */
  #resize(signal: AbortSignal): number {
    if ((this.pod.metadata.generation ?? 1) === 1) return Number.POSITIVE_INFINITY;
    const { starting, stopping } = this.#work;
    this.#resizer ??= this.#newResizer(signal);
    return this.#resizer.look({ pod: this.pod, state: this.#state, starting: keysOf(starting), stopping }, signal);
  }

  #newResizer(signal: AbortSignal): PodResizer {
    const host = {
      refusal: () => this.#context.refusal(this),
      event: (type: "Normal" | "Warning", reason: string, message: string) => this.#event(type, reason, message),
      beginStop: (stop: BeginStop) => this.#begin(stop, signal),
      go: (work: Promise<void>) => this.#go(work, () => undefined),
    };
    return new PodResizer(this.#context, host, this.pod);
  }

  #stop(id: string, graceMs: number, signal: AbortSignal): void {
    const { runtime, clock } = this.#context;
    const work = this.#work;
    const now = clock.now();
    const record = work.stopping.get(id) ?? { since: now, graceMs, isHookDone: true, killAt: undefined };
    work.stopping.set(id, { ...record, killAt: now + graceMs });
    this.#go(runtime.stopContainer(id, graceMs, signal), () => undefined);
  }

  /** Lets work go on by itself, and looks again when it is over. What fails is tried again by the next plan. */
  #go(work: Promise<unknown>, after: () => void): void {
    const { wake, log, later } = this.#context;
    work.then(
      () => {
        after();
        wake(this);
      },
      (error: unknown) => {
        after();
        log.warn("work on a pod failed", { pod: podText(this.pod), node: this.node, error });
        later(this);
      },
    );
  }

  /** Containers that have ended need no more stopping; their back-off counts from then on. */
  #forgetEnded(): void {
    const work = this.#work;
    if (work === noWork) return;
    for (const id of work.stopping.keys()) {
      const phase = this.#state.containers.find((container) => container.id === id)?.phase;
      if (phase === undefined || phase === "exited") work.stopping.delete(id);
    }
    if (work.isIdle) this.#work = noWork;
  }

  #tellBackOffs(plan: Plan): void {
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

/** Whether the pod is to be another one, or to end; a change of its labels or by a status is nothing to a node. */
const isOtherwiseAsked = ({ metadata: before }: Pod, { metadata: after }: Pod): boolean =>
  before.generation !== after.generation || before.deletionTimestamp !== after.deletionTimestamp;

/** Whether the pod is as it was, but for this status. */
function isShownAs(pod: Pod, before: Pod, status: PodStatus): boolean {
  const lasting = ({ metadata }: Pod) => ({ ...metadata, resourceVersion: undefined, managedFields: undefined });
  return !isOtherwiseAsked(before, pod) && equal(pod.status, status) && equal(lasting(pod), lasting(before));
}

const versionOf = ({ metadata }: Pod): number => Number(metadata.resourceVersion);

const nobody: ReadonlySet<string> = new Set();
const keysOf = (map: ReadonlyMap<string, unknown>): ReadonlySet<string> =>
  map.size === 0 ? nobody : new Set(map.keys());
