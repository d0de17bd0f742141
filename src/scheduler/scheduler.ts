// Gives each pod that has none the node that suits it best.
//
//   watching.ts          changes from informers → snapshot and queue
//   queue.ts             which pod is next
//   cycle.ts             pod → node, or the reasons why none will do
//   here                 assume, reserve, then beside the next cycles (pod-actions.ts): permit, bind; or report why not
//   scheduler-state.ts   what all of these share
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { breathe } from "#base/breathe.ts";
import { explain } from "#base/errors.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { noMetrics } from "#client/metrics.ts";
import type { Attempt } from "./attempt.ts";
import { Attempts, type NodeVerdict } from "./attempts.ts";
import { Bindings } from "./bindings.ts";
import { explainMisfit, type FitFailure, type Placement } from "./cycle.ts";
import type { PostFiltered } from "./framework.ts";
import { PodActions } from "./pod-actions.ts";
import type { PodView } from "./pod-view.ts";
import type { Profile } from "./profile.ts";
import type { QueuedPod, SchedulingQueue } from "./queue.ts";
import { FailureReports } from "./reports.ts";
import { type SchedulerOptions, SchedulerState } from "./scheduler-state.ts";
import { follow } from "./watching.ts";

type CycleResult = "scheduled" | "unschedulable" | "error";

const noRemedy: PostFiltered = { nominate: "", message: "" };

export class Scheduler implements Component {
  readonly name = "scheduler";
  /** Why pods that wait have no node yet. */
  readonly attempts = new Attempts();
  readonly #options: SchedulerOptions;
  readonly #actions: PodActions;
  readonly #state: SchedulerState;
  readonly #reports: FailureReports;
  readonly #bindings: Bindings;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#actions = new PodActions(options);
    this.#state = new SchedulerState(options, (pod, what, work) => this.#actions.act(pod, what, work));
    this.#reports = new FailureReports(options.clock);
    const { snapshot, queue, assumed, cycle } = this.#state;
    this.#bindings = new Bindings({
      snapshot,
      queue,
      assumed,
      metrics: options.metrics ?? noMetrics,
      extenders: this.#state.extenders,
      failed: (pod, profile, error) => this.#failed(pod, profile, error),
      refused: (pod, profile, misfit) => this.#refuse(pod, cycle.begin(profile, pod.view), misfit, noRemedy),
    });
  }

  /** Whether all caches are filled: for a readiness check. */
  get hasSynced(): boolean {
    return [Pod, Node, ...this.#state.reads].every((kind) => this.#options.informers.of(kind).hasSynced);
  }

  /** How many pods wait, and for what. */
  get pending(): SchedulingQueue["sizes"] {
    return this.#state.queue.sizes;
  }

  /** The refusals of all plugins for all nodes, for a pending pod; `attempts` has the first refusals of the last attempt. */
  explain({ uid }: Pick<PodView, "uid">): readonly NodeVerdict[] | undefined {
    const view = this.#state.queue.get(uid)?.view;
    const profile = view && this.#state.profileOf(view);
    return profile && [...this.#state.cycle.explain(profile, view)];
  }

  run(signal: AbortSignal): Promise<void> {
    return supervise([this.#actions.recorder, { name: "cycles", run: (stop) => this.#run(stop) }], signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { informers } = this.#options;
    this.#actions.endWith(signal);
    this.#state.extenders.endWith(signal);
    const unfollow = follow(informers, this.#state.reads, {
      snapshot: this.#state.snapshot,
      queue: this.#state.queue,
      nominations: this.#state.nominations,
      assumed: this.#state.assumed,
      forget: (uid) => {
        this.attempts.forget(uid);
        this.#reports.forget(uid);
      },
      isOurs: (name) => this.#state.profiles.has(name),
    });
    try {
      await Promise.all([Pod, Node, ...this.#state.reads].map((kind) => informers.of(kind).synced(signal)));
      const pause = breathe();
      for (;;) {
        const queued = this.#state.queue.take();
        if (queued) {
          const asking = this.#schedule(queued);
          if (asking) await asking;
        } else await this.#state.queue.wait(signal);
        if (this.#actions.inFlight.isFull) await this.#actions.inFlight.room();
        if (pause.due()) await pause.now();
        signal.throwIfAborted();
      }
    } finally {
      unfollow();
      this.#state.queue.close();
      await this.#actions.inFlight.all();
    }
  }

  /** One cycle. It does not give way, so all it sees is of one moment; unless extenders are to be asked, which takes a while. */
  #schedule(queued: QueuedPod): Promise<void> | undefined {
    const profile = this.#state.profileOf(queued.view);
    if (!profile || this.#state.assumed.has(queued.view.uid)) {
      this.#state.queue.done(queued);
      return undefined;
    }
    const start = this.#options.clock.elapsed();
    if (!this.#state.extenders.concern(queued.view)) {
      this.#measure(this.#tryOne(queued, profile), profile, start);
      return undefined;
    }
    return this.#tryExtended(queued, profile).then((result) => this.#measure(result, profile, start));
  }

  #measure(result: CycleResult, profile: Profile, start: number): void {
    const { clock, metrics = noMetrics } = this.#options;
    const labels = { result, profile: profile.schedulerName };
    metrics.count("scheduler_schedule_attempts_total", labels);
    metrics.observe("scheduler_scheduling_attempt_duration_seconds", labels, (clock.elapsed() - start) / 1000);
    const { active, backOff, stuck, gated } = this.#state.queue.sizes;
    for (const [queue, size] of Object.entries({ active, backoff: backOff, unschedulable: stuck, gated }))
      metrics.set("scheduler_pending_pods", { queue }, size);
  }

  #tryOne(queued: QueuedPod, profile: Profile): CycleResult {
    try {
      const attempt = this.#state.cycle.begin(profile, queued.view);
      const found = this.#state.cycle.place(attempt);
      if (!("node" in found)) {
        // No node will do: maybe one can be made to.
        const remedy = found.nodes === 0 ? noRemedy : this.#postFilter(attempt);
        if (remedy instanceof Promise) throw new Error("postFilter may take its time only where extenders are asked");
        this.#refuse(queued, attempt, found, remedy);
        return "unschedulable";
      }
      return this.#begin(queued, attempt, found);
    } catch (error) {
      this.#failed(queued, profile, error);
      return "error";
    }
  }

  /**
   * The same with extenders. The cluster goes on meanwhile, so after their answer everything is decided anew, at once, with what they
   * said of each node.
   */
  async #tryExtended(queued: QueuedPod, profile: Profile): Promise<CycleResult> {
    const { cycle, extenders, queue } = this.#state;
    try {
      const first = cycle.beginApart(profile, queued.view);
      const nodes = cycle.feasible(first, "to be asked");
      if ("refusedBy" in nodes) return await this.#refuseExtended(queued, first, nodes);
      const advice = await extenders.advise(queued.view, [...nodes]);
      if (queue.get(queued.view.uid) !== queued) {
        queue.done(queued); // it is gone, or someone else bound it
        return "unschedulable";
      }
      const attempt = cycle.beginApart(profile, queued.view);
      const found = cycle.place(attempt, advice);
      return "node" in found ? this.#begin(queued, attempt, found) : await this.#refuseExtended(queued, attempt, found);
    } catch (error) {
      this.#failed(queued, profile, error);
      return "error";
    }
  }

  async #refuseExtended(queued: QueuedPod, attempt: Attempt, misfit: FitFailure): Promise<CycleResult> {
    const remedy = misfit.nodes === 0 ? noRemedy : await this.#postFilter(attempt);
    this.#refuse(queued, attempt, misfit, remedy);
    return "unschedulable";
  }

  #begin(queued: QueuedPod, attempt: Attempt, { node }: Placement): CycleResult {
    const { profile } = attempt;
    this.#state.nominations.delete(queued.view.uid);
    const binding = this.#bindings.begin({ queued, profile, attempt, node });
    if (binding) this.#actions.inFlight.add(binding(this.#actions.contextFor(queued.view, profile.schedulerName)));
    return binding ? "scheduled" : "unschedulable";
  }

  /** Puts the pod back into the queue, and reports why. */
  #refuse(queued: QueuedPod, attempt: Attempt, misfit: FitFailure, after: PostFiltered): void {
    const { view } = queued;
    const message = explainMisfit(misfit, attempt, after.message);
    this.#state.queue.refuse(queued, misfit.refusedBy);
    if (after.nominate) this.#state.nominations.set(view, after.nominate);
    else if (after.nominate === "") this.#state.nominations.delete(view.uid);
    const write = this.#reports.refused(view, message, after.nominate);
    this.attempts.note(view, misfit, attempt.verdicts, message, this.#options.clock.now());
    if (write) this.#actions.act(view, "report that the pod found no node", write, attempt.profile.schedulerName);
  }

  /** A promise only if a plugin gave one: cycles without extenders do not give way. */
  #postFilter(attempt: Attempt, from = 0, messages: readonly string[] = []): PostFiltered | Promise<PostFiltered> {
    const step = attempt.profile.postFilter[from];
    if (!step) return { message: messages.join(", ") };
    const next = (result: PostFiltered) => {
      if (result.nominate) return result;
      const said = result.message ? [...messages, result.message] : messages;
      return result.nominate === ""
        ? { nominate: "", message: said.join(", ") }
        : this.#postFilter(attempt, from + 1, said);
    };
    const result = step.run(attempt.pod, attempt);
    return result instanceof Promise ? result.then(next) : next(result);
  }

  /** Something went wrong that says nothing about the pod or the nodes. */
  #failed(queued: QueuedPod, { schedulerName }: Profile, error: unknown): void {
    const { view } = queued;
    this.#options.log.warn("scheduling failed", { pod: view.key, error });
    this.#state.nominations.delete(view.uid);
    this.#state.queue.fail(queued);
    const write = this.#reports.failed(view, explain(error));
    if (write) this.#actions.act(view, "report that scheduling failed", write, schedulerName);
  }
}
