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

/** A plugin's no to the whole cluster. */
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
  /** The nodes that come into question; all unless a plugin knew better. */
  only: ReadonlySet<string> | undefined;
  /** The plugins that knew better. */
  readonly narrowedBy = new Set<SchedulerPlugin>();
  /** The plugin whose refusal was the last. */
  lastJudge: SchedulerPlugin | undefined;

  constructor({ profile, pod, snapshot, nominations, verdicts }: AttemptOptions) {
    this.profile = profile;
    this.pod = pod;
    this.snapshot = snapshot;
    this.verdicts = verdicts;
    this.#nominations = nominations;
  }

  /** Asks each plugin once. After a refusal that pods could be taken away for, the others are asked all the same: they may have a harder one. */
  prepare(): Veto | undefined {
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
        } else if (prepared.only) this.#narrow(plugin, prepared.only);
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
    if (!this.#nominations.isEmpty) {
      const trial = this.#withNominated(node);
      const refusal = trial?.judge();
      if (trial && refusal) {
        this.lastJudge = trial.lastJudge;
        return refusal;
      }
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

  /** What would be if pods came to a node or left it. */
  trial(node: NodeState): Trial {
    return new Trial(this.pod, node, this.#filters, this.#filterStates);
  }

  /** The node with the pods that come before this one, if there are any. */
  #withNominated(node: NodeState): Trial | undefined {
    const { pod } = this;
    const others = this.#nominations
      .on(node.name)
      .filter((other) => other.uid !== pod.uid && other.priority >= pod.priority);
    if (others.length === 0) return undefined;
    const trial = this.trial(node);
    for (const other of others) trial.add(other);
    return trial;
  }

  #narrow(plugin: SchedulerPlugin, only: ReadonlySet<string>): void {
    this.narrowedBy.add(plugin);
    this.only = this.only ? this.only.intersection(only) : only;
  }
}

/** A copy of a node and of what the filters have prepared, to be played with. */
export class Trial {
  readonly node: NodeState;
  readonly #pod: PodView;
  readonly #filters: readonly FilterStep[];
  readonly #states: unknown[];
  lastJudge: SchedulerPlugin | undefined;

  constructor(pod: PodView, node: NodeState, filters: readonly FilterStep[], states: readonly unknown[]) {
    this.node = node.copy();
    this.#pod = pod;
    this.#filters = filters;
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

  judge(): Refusal | undefined {
    for (const [i, { plugin, run }] of this.#filters.entries()) {
      const refusal = run(this.#pod, this.node, this.#states[i]);
      if (refusal !== undefined) {
        this.lastJudge = plugin;
        return refusal;
      }
    }
    return undefined;
  }

  #tell(what: "add" | "remove", other: PodView): void {
    for (const [i, { plugin }] of this.#filters.entries())
      plugin.whatIf?.[what](this.#states[i], other, this.node, this.#pod);
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
