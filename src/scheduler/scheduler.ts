// Gives each pod that has none the node that suits it best.
//
//   watching.ts   changes from informers → snapshot and queue
//   queue.ts      which pod is next
//   cycle.ts      pod → node, or the reasons why none will do
//   here          assume, reserve, then beside the next cycles: permit, bind; or report why not
import { Namespace } from "#api/core/v1/namespace.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { breathe } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { cacheView } from "#client/controller.ts";
import { EventRecorder } from "#client/events.ts";
import type { Informers } from "#client/informers.ts";
import { type Metrics, noMetrics } from "#client/metrics.ts";
import { causeOf } from "#client/object-key.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { Attempt } from "./attempt.ts";
import { Attempts, type NodeVerdict } from "./attempts.ts";
import { Bindings } from "./bindings.ts";
import { makeProfiles, readConfiguration, type SchedulerConfiguration } from "./configuration.ts";
import { Cycle, explainMisfit, type FitFailure } from "./cycle.ts";
import type { BindingContext, PluginContext, PostFiltered } from "./framework.ts";
import { PodsInFlight } from "./in-flight.ts";
import { Nominations } from "./nominations.ts";
import { defaultPlugins, type PluginEntry } from "./plugins/list.ts";
import type { PodView } from "./pod-view.ts";
import type { Profile } from "./profile.ts";
import { type QueuedPod, SchedulingQueue } from "./queue.ts";
import { FailureReports } from "./reports.ts";
import { Snapshot } from "./snapshot.ts";
import { follow } from "./watching.ts";

export interface SchedulerOptions {
  readonly client: Client;
  /** Run by whoever made them; shared with others of the process. */
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Which instance reports: the `source.host` of events. */
  readonly host?: string;
  readonly configuration?: SchedulerConfiguration;
  /** Plugins that profiles may name; defaults to those of plugins/list.ts. */
  readonly plugins?: readonly PluginEntry[];
}

const mostInFlight = 256;
const noRemedy: PostFiltered = { nominate: "", message: "" };

export class Scheduler implements Component {
  readonly name = "scheduler";
  /** Why pods that wait have no node yet. */
  readonly attempts = new Attempts();
  readonly #options: SchedulerOptions;
  readonly #profiles: ReadonlyMap<string, Profile>;
  readonly #snapshot = new Snapshot();
  readonly #nominations = new Nominations();
  readonly #assumed = new Set<string>();
  readonly #cycle: Cycle;
  readonly #queue: SchedulingQueue;
  readonly #recorder: EventRecorder;
  readonly #reports: FailureReports;
  readonly #bindings: Bindings;
  readonly #inFlight = new PodsInFlight(mostInFlight);
  readonly #reads: ReadonlySet<AnyKind>;
  #signal: AbortSignal;

  constructor(options: SchedulerOptions) {
    const {
      clock,
      random,
      configuration = readConfiguration(),
      plugins = defaultPlugins,
      informers,
      client,
      log,
    } = options;
    this.#options = options;
    this.#signal = client.signal;
    this.#recorder = new EventRecorder(options);
    const context: PluginContext = {
      snapshot: this.#snapshot,
      cache: cacheView((kind) => informers.of(kind).cache),
      clock,
      random,
      log,
      metrics: options.metrics ?? noMetrics,
      act: (pod, what, work) => this.#act(pod, what, work),
      unnominate: (pod) => {
        this.#nominations.delete(pod.uid);
        this.#queue.retry(pod.uid);
      },
      retry: (pod) => this.#queue.retry(pod.uid),
      nominated: (node) => this.#nominations.on(node),
    };
    this.#profiles = makeProfiles(configuration, plugins, context);
    const all = [...this.#profiles.values()];
    this.#reads = new Set<AnyKind>([
      Namespace,
      ...all.flatMap((profile) => profile.plugins.flatMap(({ reads = [] }) => reads)),
    ]);
    this.#cycle = new Cycle({ snapshot: this.#snapshot, nominations: this.#nominations, random });
    this.#queue = new SchedulingQueue({
      clock,
      snapshot: this.#snapshot,
      compare: (a, b) => all[0]?.compare(a, b) ?? 0, // all profiles share one queue, so they sort alike
      gateOf: (pod) => this.#profileOf(pod)?.gateOf(pod),
      firstBackoffMs: configuration.podInitialBackoffSeconds * 1000,
      maxBackoffMs: configuration.podMaxBackoffSeconds * 1000,
    });
    this.#reports = new FailureReports(clock);
    this.#bindings = new Bindings({
      snapshot: this.#snapshot,
      queue: this.#queue,
      assumed: this.#assumed,
      metrics: options.metrics ?? noMetrics,
      failed: (pod, profile, error) => this.#failed(pod, profile, error),
      refused: (pod, profile, misfit) => this.#refuse(pod, this.#cycle.begin(profile, pod.view), misfit, noRemedy),
    });
  }

  /** Whether all caches are filled: for a readiness check. */
  get hasSynced(): boolean {
    return [Pod, Node, ...this.#reads].every((kind) => this.#options.informers.of(kind).hasSynced);
  }

  /** How many pods wait, and for what. */
  get pending(): SchedulingQueue["sizes"] {
    return this.#queue.sizes;
  }

  /** The refusals of all plugins for all nodes, for a pending pod; `attempts` has the first refusals of the last attempt. */
  explain({ uid }: Pick<PodView, "uid">): readonly NodeVerdict[] | undefined {
    const view = this.#queue.get(uid)?.view;
    const profile = view && this.#profileOf(view);
    return profile && [...this.#cycle.explain(profile, view)];
  }

  run(signal: AbortSignal): Promise<void> {
    return supervise([this.#recorder, { name: "cycles", run: (stop) => this.#run(stop) }], signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { informers } = this.#options;
    this.#signal = signal;
    const unfollow = follow(informers, this.#reads, {
      snapshot: this.#snapshot,
      queue: this.#queue,
      nominations: this.#nominations,
      assumed: this.#assumed,
      forget: (uid) => {
        this.attempts.forget(uid);
        this.#reports.forget(uid);
      },
      isOurs: (name) => this.#profiles.has(name),
    });
    try {
      await Promise.all([Pod, Node, ...this.#reads].map((kind) => informers.of(kind).synced(signal)));
      const pause = breathe();
      for (;;) {
        const queued = this.#queue.take();
        if (queued) this.#schedule(queued);
        else await this.#queue.wait(signal);
        if (this.#inFlight.isFull) await this.#inFlight.room();
        if (pause.due()) await pause.now();
        signal.throwIfAborted();
      }
    } finally {
      unfollow();
      this.#queue.close();
      await this.#inFlight.all();
    }
  }

  #profileOf({ pod }: PodView): Profile | undefined {
    return this.#profiles.get(pod.spec.schedulerName);
  }

  /** One cycle. It does not give way, so all it sees is of one moment. */
  #schedule(queued: QueuedPod): void {
    const { clock, metrics = noMetrics } = this.#options;
    const profile = this.#profileOf(queued.view);
    if (!profile || this.#assumed.has(queued.view.uid)) {
      this.#queue.done(queued);
      return;
    }
    const start = clock.elapsed();
    const result = this.#tryOne(queued, profile);
    const labels = { result, profile: profile.schedulerName };
    metrics.count("scheduler_schedule_attempts_total", labels);
    metrics.observe("scheduler_scheduling_attempt_duration_seconds", labels, (clock.elapsed() - start) / 1000);
    const { active, backOff, stuck, gated } = this.#queue.sizes;
    for (const [queue, size] of Object.entries({ active, backoff: backOff, unschedulable: stuck, gated }))
      metrics.set("scheduler_pending_pods", { queue }, size);
  }

  #tryOne(queued: QueuedPod, profile: Profile): "scheduled" | "unschedulable" | "error" {
    try {
      const attempt = this.#cycle.begin(profile, queued.view);
      const found = this.#cycle.place(attempt);
      if (!("node" in found)) {
        // No node will do: maybe one can be made to.
        this.#refuse(queued, attempt, found, found.nodes === 0 ? noRemedy : this.#postFilter(attempt));
        return "unschedulable";
      }
      this.#nominations.delete(queued.view.uid);
      const binding = this.#bindings.begin({ queued, profile, attempt, node: found.node });
      if (binding) this.#inFlight.add(binding(this.#contextFor(queued.view, profile.schedulerName)));
      return binding ? "scheduled" : "unschedulable";
    } catch (error) {
      this.#failed(queued, profile, error);
      return "error";
    }
  }

  /** Puts the pod back into the queue, and reports why. */
  #refuse(queued: QueuedPod, attempt: Attempt, misfit: FitFailure, after: PostFiltered): void {
    const { view } = queued;
    const message = explainMisfit(misfit, attempt, after.message);
    this.#queue.refuse(queued, misfit.refusedBy);
    if (after.nominate) this.#nominations.set(view, after.nominate);
    else if (after.nominate === "") this.#nominations.delete(view.uid);
    const write = this.#reports.refused(view, message, after.nominate);
    this.attempts.note(view, misfit, attempt.verdicts, message, this.#options.clock.now());
    if (write) this.#act(view, "report that the pod found no node", write, attempt.profile.schedulerName);
  }

  #postFilter(attempt: Attempt): PostFiltered {
    const messages: string[] = [];
    for (const { run } of attempt.profile.postFilter) {
      const result = run(attempt.pod, attempt);
      if (result.nominate) return result;
      if (result.message) messages.push(result.message);
      if (result.nominate === "") return { nominate: "", message: messages.join(", ") };
    }
    return { message: messages.join(", ") };
  }

  /** Something went wrong that says nothing about the pod or the nodes. */
  #failed(queued: QueuedPod, { schedulerName }: Profile, error: unknown): void {
    const { view } = queued;
    this.#options.log.warn("scheduling failed", { pod: view.key, error });
    this.#nominations.delete(view.uid);
    this.#queue.fail(queued);
    const write = this.#reports.failed(view, explain(error));
    if (write) this.#act(view, "report that scheduling failed", write, schedulerName);
  }

  #act(
    pod: PodView,
    what: string,
    work: (context: BindingContext) => Promise<void>,
    component = pod.pod.spec.schedulerName,
  ): void {
    const { log } = this.#options;
    const run = async () => {
      try {
        await work(this.#contextFor(pod, component));
      } catch (error) {
        if (!this.#signal.aborted) log.warn("could not act for a pod", { pod: pod.key, what, error: explain(error) });
      }
    };
    this.#inFlight.add(run());
  }

  #contextFor({ pod, key }: PodView, component: string): BindingContext {
    const { client, clock, host } = this.#options;
    const signal = this.#signal;
    return {
      client: client.bound({ signal, because: causeOf(Pod, key, pod.metadata.resourceVersion) }),
      signal,
      clock,
      event: (type, reason, message, about = pod) =>
        this.#recorder.record(about, { type, reason, message, component, ...(host !== undefined && { host }) }),
    };
  }
}
