// From a pod to the node that suits it best, or to the reasons why none will do. Pure: it looks at the snapshot and changes nothing.
import type { Random } from "#base/random.ts";
import { Attempt, type Veto } from "./attempt.ts";
import { type NodeVerdict, saidBy } from "./attempts.ts";
import { type ExtenderAdvice, extenderPlugin } from "./extenders.ts";
import type { Refusal, SchedulerPlugin } from "./framework.ts";
import type { NodeState } from "./node-state.ts";
import type { Nominations } from "./nominations.ts";
import type { PodView } from "./pod-view.ts";
import type { Profile } from "./profile.ts";
import type { Snapshot } from "./snapshot.ts";
import { Verdicts } from "./verdicts.ts";

export interface CycleOptions {
  readonly snapshot: Snapshot;
  readonly nominations: Nominations;
  readonly random: Random;
}

export interface Placement {
  readonly node: NodeState;
  /** The best total score, and the number of feasible nodes; for tests and explanations. */
  readonly score: number;
  readonly feasible: number;
}

/** Why there is no node. */
export interface FitFailure {
  /** How many nodes there are. */
  readonly nodes: number;
  readonly veto: Veto | undefined;
  /** The plugins that refused a node. */
  readonly refusedBy: ReadonlySet<SchedulerPlugin>;
}

/** Fewer nodes than this are all looked at. */
const fewNodes = 100;
const leastPercent = 5;
const bestScore = 100;

export class Cycle {
  readonly #options: CycleOptions;
  readonly #verdicts = new Verdicts();
  readonly #feasible: NodeState[] = [];
  #totals = new Float64Array(0);
  #scores = new Float64Array(0);
  /** The nodes that were not looked at last time come first next time. */
  #start = 0;
  /** Where the last search began, and how many nodes it looked at. */
  #last = { start: 0, looked: 0 };

  constructor(options: CycleOptions) {
    this.#options = options;
  }

  begin(profile: Profile, pod: PodView): Attempt {
    this.#verdicts.clear();
    return this.#attempt(profile, pod, this.#verdicts);
  }

  /** An attempt that stays valid while others begin: extenders are waited for. */
  beginApart(profile: Profile, pod: PodView): Attempt {
    return this.#attempt(profile, pod, new Verdicts());
  }

  #attempt(profile: Profile, pod: PodView, verdicts: Verdicts): Attempt {
    const { snapshot, nominations } = this.#options;
    return new Attempt({ profile, pod, snapshot, nominations, verdicts });
  }

  /** With advice, only nodes come into question that extenders were asked about and agreed to. */
  place(attempt: Attempt, advice?: ExtenderAdvice): Placement | FitFailure {
    const found = this.feasible(attempt, advice ?? "none");
    if ("refusedBy" in found) return found;
    const [only] = found;
    if (only && found.length === 1) return { node: only, score: 0, feasible: 1 };
    this.#score(attempt, advice);
    return this.#best();
  }

  /** The nodes that will do, or why there are none. Those to ask extenders about are looked for even where one would be enough. */
  feasible(attempt: Attempt, advice: ExtenderAdvice | "none" | "to be asked"): readonly NodeState[] | FitFailure {
    const { nodes } = this.#options.snapshot;
    if (nodes.length === 0) return { nodes: 0, veto: undefined, refusedBy: new Set() };
    const veto = attempt.prepare();
    if (veto) return { nodes: nodes.length, veto, refusedBy: veto.plugins };
    const nominated = this.#nominated(attempt, advice);
    if (nominated) return [nominated];
    this.#search(attempt, this.#candidates(attempt, nodes), advice);
    if (this.#feasible.length === 0)
      return {
        nodes: nodes.length,
        veto: undefined,
        refusedBy: attempt.verdicts.plugins().union(attempt.narrowedBy),
      };
    return this.#feasible;
  }

  /** The refusals of all plugins for all nodes. An attempt stops at the first refusal of a node; this is for explanations. */
  *explain(profile: Profile, pod: PodView): Generator<NodeVerdict> {
    const attempt = this.beginApart(profile, pod);
    const veto = attempt.prepare();
    for (const node of this.#options.snapshot.nodes) {
      if (veto) for (const plugin of veto.plugins) yield { node: node.name, ...saidBy(plugin, veto.refusal) };
      else
        for (const { plugin, refusal } of attempt.judgeAll(node)) yield { node: node.name, ...saidBy(plugin, refusal) };
    }
  }

  /** Room was made there for the pod: it is most likely the only node that will do. */
  #nominated(attempt: Attempt, advice: Parameters<Cycle["feasible"]>[1]): NodeState | undefined {
    const { snapshot, nominations } = this.#options;
    const name = nominations.nodeOf(attempt.pod.uid);
    const node = name === undefined ? undefined : snapshot.node(name);
    if (!node || attempt.only?.has(node.name) === false) return undefined;
    return judged(attempt, node, advice) === undefined ? node : undefined;
  }

  #candidates({ only }: Attempt, nodes: readonly NodeState[]): readonly NodeState[] {
    if (!only) return nodes;
    return [...only].flatMap((name) => this.#options.snapshot.node(name) ?? []);
  }

  #search(attempt: Attempt, nodes: readonly NodeState[], advice: Parameters<Cycle["feasible"]>[1]): void {
    const { verdicts, profile } = attempt;
    const feasible = this.#feasible;
    feasible.length = 0;
    const isAdvised = typeof advice === "object";
    const isOneEnough = profile.score.length === 0 && advice === "none";
    const enough = isOneEnough ? 1 : nodesToFind(nodes.length, profile.percentageOfNodesToScore);
    // Once extenders have spoken, the nodes of the search before are looked at again, and no others.
    const wanted = isAdvised ? nodes.length : enough;
    const most = isAdvised ? Math.min(nodes.length, this.#last.looked) : nodes.length;
    const start = isAdvised ? this.#last.start : this.#start;
    const judge = (node: NodeState): void => {
      const refusal = judged(attempt, node, advice);
      if (refusal === undefined) feasible.push(node);
      else verdicts.add(node, attempt.lastJudge as SchedulerPlugin, refusal);
    };
    const hopeless: NodeState[] = [];
    let looked = 0;
    for (let at = start % Math.max(1, nodes.length); looked < most && feasible.length < wanted; looked++) {
      const node = nodes[at] as NodeState;
      if (++at === nodes.length) at = 0;
      if (attempt.isHopeless(node)) hopeless.push(node);
      else judge(node);
    }
    if (feasible.length === 0) for (const node of hopeless) judge(node);
    this.#last = { start, looked };
    this.#start = (start + looked) % this.#options.snapshot.nodes.length;
  }

  #score(attempt: Attempt, advice: ExtenderAdvice | undefined): void {
    const { pod, profile } = attempt;
    const nodes = this.#feasible;
    if (this.#totals.length < nodes.length) {
      this.#totals = new Float64Array(nodes.length * 2);
      this.#scores = new Float64Array(nodes.length * 2);
    }
    const totals = this.#totals.fill(0, 0, nodes.length);
    const scores = this.#scores;
    const prepared = this.#preScore(attempt);
    for (const { plugin, number, weight, run } of profile.score) {
      if (!prepared.has(number) && plugin.preScore) continue;
      const state = prepared.get(number);
      for (let i = 0; i < nodes.length; i++) scores[i] = run(pod, nodes[i] as NodeState, state);
      plugin.normalize?.(scores, nodes, state);
      for (let i = 0; i < nodes.length; i++) {
        const score = scores[i] as number;
        if (!(score >= 0 && score <= bestScore))
          throw new Error(
            `plugin "${plugin.name}" returns an invalid score ${score}, it should in the range of [0, ${bestScore}] after normalizing`,
          );
        totals[i] = (totals[i] as number) + weight * score;
      }
    }
    if (advice)
      for (const [i, { name }] of nodes.entries()) totals[i] = (totals[i] as number) + (advice.scores.get(name) ?? 0);
  }

  #preScore({ pod, profile }: Attempt): Map<number, unknown> {
    const states = new Map<number, unknown>();
    for (const { number, run } of profile.preScore) {
      const prepared = run(pod, this.#feasible, this.#options.snapshot);
      if (prepared) states.set(number, prepared.state);
    }
    return states;
  }

  /** Among equals, chance decides. */
  #best(): Placement {
    const nodes = this.#feasible;
    const totals = this.#totals;
    let best = 0;
    let equals = 1;
    for (let i = 1; i < nodes.length; i++) {
      const total = totals[i] as number;
      if (total > (totals[best] as number)) {
        best = i;
        equals = 1;
      } else if (total === totals[best] && this.#options.random.below(++equals) === 0) best = i;
    }
    return { node: nodes[best] as NodeState, score: totals[best] as number, feasible: nodes.length };
  }

  /** The totals of the last search, by node. */
  totals(): ReadonlyMap<string, number> {
    return new Map(this.#feasible.map(({ name }, i) => [name, this.#totals[i] ?? 0]));
  }
}

/** What plugins and extenders say of a node. */
function judged(attempt: Attempt, node: NodeState, advice: Parameters<Cycle["feasible"]>[1]): Refusal | undefined {
  const refusal = attempt.judge(node);
  if (refusal || typeof advice !== "object") return refusal;
  attempt.lastJudge = extenderPlugin;
  return advice.refusalOf(node.name);
}

/** The more nodes, the smaller a part of them is enough to find a good one among. */
export function nodesToFind(nodes: number, percentage: number): number {
  if (nodes < fewNodes) return nodes;
  const percent = percentage === 0 ? Math.max(leastPercent, 50 - Math.floor(nodes / 125)) : percentage;
  return Math.max(fewNodes, Math.floor((nodes * percent) / 100));
}

/** In upstream's words; people and tools read them. */
export function explainMisfit({ nodes, veto }: FitFailure, attempt: Attempt, afterwards: string): string {
  if (nodes === 0) return "no nodes available to schedule pods";
  let message = `0/${nodes} nodes are available:`;
  if (veto) message += ` ${[veto.refusal.reason, ...(veto.refusal.also ?? [])].join(", ")}.`;
  else {
    const counts = attempt.verdicts.reasons();
    const narrowed = [...attempt.narrowedBy].map(({ name }) => name).toSorted();
    const absent = nodes - attempt.verdicts.size;
    if (absent > 0 && narrowed.length > 0)
      counts.set(`node(s) didn't satisfy plugin(s) [${narrowed.join(" ")}]`, absent);
    const reasons = [...counts].map(([reason, count]) => `${count} ${reason}`).toSorted();
    if (reasons.length > 0) message += ` ${reasons.join(", ")}.`;
  }
  return afterwards === "" ? message : `${message} ${afterwards}`;
}
