// One attempt to find a node for a pod: what the plugins have prepared for it, and their verdict on any node.
import type { Refusal, SchedulerPlugin } from "./framework.ts";
import type { NodeState } from "./node-state.ts";
import type { Nominations } from "./nominations.ts";
import type { PodView } from "./pod-view.ts";
import type { Profile } from "./profile.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Verdicts } from "./verdicts.ts";

type FilterStep = Profile["filter"][number];

export interface AttemptOptions {
  readonly profile: Profile;
  readonly pod: PodView;
  readonly snapshot: Snapshot;
  readonly nominations: Nominations;
  readonly verdicts: Verdicts;
}

/** A refusal of the whole cluster by a plugin. */
export interface Veto {
  readonly plugins: ReadonlySet<SchedulerPlugin>;
  readonly refusal: Refusal;
}

export class Attempt {
  readonly profile: Profile;
  readonly pod: PodView;
  readonly snapshot: Snapshot;
  /** Nodes that were refused so far. Valid until the next attempt begins. */
  readonly verdicts: Verdicts;
  readonly #nominations: Nominations;
  /** What each plugin has prepared, by its number. */
  readonly states: unknown[] = [];
  /** The filters that have something to do with the pod, and their states. */
  readonly #filters: FilterStep[] = [];
  readonly #filterStates: unknown[] = [];
  readonly #hopeless: ((node: NodeState) => boolean)[] = [];
  /** The candidate nodes; all nodes, unless a preFilter has narrowed them down. */
  only: ReadonlySet<string> | undefined;
  /** The plugins that narrowed the candidates down. */
  readonly narrowedBy = new Set<SchedulerPlugin>();
  /** The refusal of the whole cluster, if there was one. */
  veto: Veto | undefined;
  /** The plugin whose refusal was the last. */
  lastJudge: SchedulerPlugin | undefined;

  constructor({ profile, pod, snapshot, nominations, verdicts }: AttemptOptions) {
    this.profile = profile;
    this.pod = pod;
    this.snapshot = snapshot;
    this.verdicts = verdicts;
    this.#nominations = nominations;
  }

  /** Runs preFilter of each plugin. After a refusal that preemption could cure the others run all the same: they may refuse for good. */
  prepare(): Veto | undefined {
    this.veto = this.#prepare();
    return this.veto;
  }

  #prepare(): Veto | undefined {
    const { profile, pod, snapshot, states } = this;
    const idle = new Set<number>();
    let veto: Veto | undefined;
    for (const { plugin, number, run } of profile.preFilter) {
      const prepared = run(pod, snapshot);
      if (prepared === undefined) idle.add(number);
      else {
        if ("state" in prepared) states[number] = prepared.state;
        if ("reason" in prepared) {
          veto = { plugins: new Set([plugin]), refusal: prepared };
          if (prepared.stuck) return veto;
        } else {
          if (prepared.only) this.#narrow(plugin, prepared.only);
          if (prepared.isHopeless) this.#hopeless.push(prepared.isHopeless);
        }
        if (this.only?.size === 0) return { plugins: this.narrowedBy, refusal: nowhere(this.narrowedBy) };
      }
    }
    for (const step of profile.filter)
      if (!idle.has(step.number)) {
        this.#filters.push(step);
        this.#filterStates.push(states[step.number]);
      }
    return veto;
  }

  /** The first filter's refusal, or undefined if the pod can run there, beside the pods for which room is being made there and without them. */
  judge(node: NodeState): Refusal | undefined {
    if (!this.#nominations.isEmpty && this.#before(node).length > 0) {
      const trial = this.trial(node);
      const refusal = trial.judge();
      this.lastJudge = trial.lastJudge;
      return refusal;
    }
    const { pod } = this;
    const filters = this.#filters;
    const states = this.#filterStates;
    for (let i = 0; i < filters.length; i++) {
      const step = filters[i] as FilterStep;
      const refusal = step.run(pod, node, states[i]);
      if (refusal !== undefined) {
        this.lastJudge = step.plugin;
        return refusal;
      }
    }
    return undefined;
  }

  /** Whether a filter is certain to refuse the node. */
  isHopeless(node: NodeState): boolean {
    for (const isHopeless of this.#hopeless) if (isHopeless(node)) return true;
    return false;
  }

  /** The refusals of all filters for the node, not only the first. */
  *judgeAll(node: NodeState): Generator<{ readonly plugin: SchedulerPlugin; readonly refusal: Refusal }> {
    for (const [i, { plugin, run }] of this.#filters.entries()) {
      const refusal = run(this.pod, node, this.#filterStates[i]);
      if (refusal) yield { plugin, refusal };
    }
  }

  /** A trial: the filters of one node as if pods came to it or left it. */
  trial(node: NodeState): Trial {
    const { pod } = this;
    return new Trial({ pod, node, filters: this.#filters, states: this.#filterStates, before: this.#before(node) });
  }

  /** Where room was made for the pod. */
  get nominated(): string | undefined {
    return this.#nominations.nodeOf(this.pod.uid);
  }

  /** Pods nominated for the node that have at least this pod's priority. */
  #before({ name }: NodeState): readonly PodView[] {
    const { pod } = this;
    return this.#nominations.on(name).filter((other) => other.uid !== pod.uid && other.priority >= pod.priority);
  }

  #narrow(plugin: SchedulerPlugin, only: ReadonlySet<string>): void {
    this.narrowedBy.add(plugin);
    this.only = this.only ? this.only.intersection(only) : only;
  }
}

interface TrialOptions {
  readonly pod: PodView;
  readonly node: NodeState;
  readonly filters: readonly FilterStep[];
  readonly states: readonly unknown[];
  readonly before: readonly PodView[];
}

/** A copy of a node and of the filter states, to try out changes on. */
export class Trial {
  readonly node: NodeState;
  readonly #options: TrialOptions;
  readonly #states: readonly unknown[];
  lastJudge: SchedulerPlugin | undefined;

  constructor(options: TrialOptions) {
    const { node, filters, states } = options;
    this.node = node.copy();
    this.#options = options;
    this.#states = states.map((state, i) => filters[i]?.plugin.whatIf?.copy(state) ?? state);
  }

  add(other: PodView): void {
    this.node.add(other);
    this.#tell("add", other);
  }

  remove(other: PodView): void {
    this.node.remove(other.uid);
    this.#tell("remove", other);
  }

  /** With the pods that come before this one, and without them: that they will come is not certain either. */
  judge(): Refusal | undefined {
    const { before } = this.#options;
    if (before.length > 0) {
      const crowded = new Trial({ ...this.#options, node: this.node, states: this.#states, before: [] });
      for (const other of before) crowded.add(other);
      const refusal = crowded.judge();
      this.lastJudge = crowded.lastJudge;
      if (refusal) return refusal;
    }
    for (const [i, { plugin, run }] of this.#options.filters.entries()) {
      const refusal = run(this.#options.pod, this.node, this.#states[i]);
      this.lastJudge = plugin;
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  #tell(what: "add" | "remove", other: PodView): void {
    for (const [i, { plugin }] of this.#options.filters.entries())
      plugin.whatIf?.[what](this.#states[i], other, this.node, this.#options.pod);
  }
}

/** In Go's notation of a list, as upstream says it. */
function nowhere(plugins: ReadonlySet<SchedulerPlugin>): Refusal {
  const names = [...plugins].map(({ name }) => name).toSorted();
  const reason =
    names.length === 1
      ? `node(s) didn't satisfy plugin ${names[0]}`
      : `node(s) didn't satisfy plugin(s) [${names.join(" ")}] simultaneously`;
  return { reason, stuck: true };
}
