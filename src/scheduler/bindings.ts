// What happens once a node is chosen: the pod is assumed to be there, reserved, permitted and bound; or all of this is undone.
import type { Metrics } from "#client/metrics.ts";
import type { Attempt } from "./attempt.ts";
import type { FitFailure } from "./cycle.ts";
import type { Extenders } from "./extenders.ts";
import type { BindingContext, Refusal, SchedulerPlugin } from "./framework.ts";
import type { NodeState } from "./node-state.ts";
import { PodView } from "./pod-view.ts";
import type { Profile } from "./profile.ts";
import type { QueuedPod, SchedulingQueue } from "./queue.ts";
import type { Snapshot } from "./snapshot.ts";

export interface BindingsOptions {
  readonly snapshot: Snapshot;
  readonly queue: SchedulingQueue;
  readonly assumed: Set<string>;
  readonly metrics: Metrics;
  readonly extenders: Extenders;
  failed(pod: QueuedPod, profile: Profile, error: unknown): void;
  refused(pod: QueuedPod, profile: Profile, misfit: FitFailure): void;
}

/** More are counted as one, so that there are not too many labels. */
const manyAttempts = 15;

export interface NodeChoice {
  readonly queued: QueuedPod;
  readonly profile: Profile;
  readonly attempt: Attempt;
  readonly node: NodeState;
}

export class Bindings {
  readonly #options: BindingsOptions;

  constructor(options: BindingsOptions) {
    this.#options = options;
  }

  /** Assumes and reserves, at once. Returns what remains to be done beside the next cycles, or undefined if a plugin refused. */
  begin(chosen: NodeChoice): ((context: BindingContext) => Promise<void>) | undefined {
    const { queued, profile, attempt, node } = chosen;
    const { snapshot, assumed } = this.#options;
    const { view } = queued;
    const states = (plugin: SchedulerPlugin) => attempt.states[profile.numberOf(plugin)];
    snapshot.setPod(view, node.name);
    assumed.add(view.uid);
    for (const { plugin } of profile.reserve) {
      const refusal = plugin.reserve?.(view, node, states(plugin));
      if (!refusal) continue;
      this.#takeBack(chosen, view);
      this.#refuse(chosen, plugin, refusal);
      return undefined;
    }
    return (context) => this.#bind(chosen, view, context);
  }

  async #bind(chosen: NodeChoice, view: PodView, context: BindingContext): Promise<void> {
    const { queued, profile, attempt, node } = chosen;
    const { queue, metrics } = this.#options;
    const stateOf = (plugin: SchedulerPlugin) => attempt.states[profile.numberOf(plugin)];
    try {
      for (const { plugin } of profile.permit) {
        const refusal = await plugin.permit?.(view, node, context);
        if (!refusal) continue;
        this.#takeBack(chosen, view);
        this.#refuse(chosen, plugin, refusal);
        this.#tellGone(chosen, view);
        return;
      }
      queue.done(queued);
      for (const { plugin } of profile.preBind) await plugin.preBind?.(view, node, context, stateOf(plugin));
      if (!(await this.#bindBy(profile, view, node, context))) throw new Error(`no plugin binds pod ${view.key}`);
      context.event("Normal", "Scheduled", `Successfully assigned ${view.key} to ${node.name}`);
      metrics.observe("scheduler_pod_scheduling_attempts", {}, queued.attempts);
      const attempts = queued.attempts >= manyAttempts ? `${manyAttempts}+` : String(queued.attempts);
      const seconds = (context.clock.elapsed() - queued.firstSeen) / 1000;
      metrics.observe("scheduler_pod_scheduling_sli_duration_seconds", { attempts }, seconds);
      for (const { plugin } of profile.postBind) plugin.postBind?.(view, node, stateOf(plugin));
    } catch (error) {
      this.#takeBack(chosen, view);
      this.#tellGone(chosen, view);
      if (!context.signal.aborted) this.#options.failed(queued, profile, error);
    }
  }

  async #bindBy(profile: Profile, view: PodView, node: NodeState, context: BindingContext): Promise<boolean> {
    if (await this.#options.extenders.bind(view, node)) return true;
    for (const { plugin } of profile.bind) if (await plugin.bind?.(view, node, context)) return true;
    return false;
  }

  #takeBack({ profile, attempt, node }: NodeChoice, view: PodView): void {
    const { snapshot, assumed } = this.#options;
    for (const { plugin } of profile.reserve.toReversed())
      plugin.unreserve?.(view, node, attempt.states[profile.numberOf(plugin)]);
    // If a watch event for the pod has arrived meanwhile, the node in that event counts.
    if (assumed.delete(view.uid)) snapshot.removePod(view.uid);
  }

  /** Undoes the assumption: the resources of the pod are free again. */
  #tellGone({ node }: NodeChoice, { pod }: PodView): void {
    const old = new PodView({ ...pod, spec: { ...pod.spec, nodeName: node.name } });
    this.#options.queue.changed({ kind: "Pod", old, now: undefined, happened: ["delete"] });
  }

  #refuse({ queued, profile }: NodeChoice, plugin: SchedulerPlugin, refusal: Refusal): void {
    const plugins = new Set([plugin]);
    this.#options.refused(queued, profile, { nodes: 1, veto: { plugins, refusal }, refusedBy: plugins });
  }
}
