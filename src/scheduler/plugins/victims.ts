// Which pods of a node would have to go so that another can come, and on which node that does the least harm.
// Upstream: pkg/scheduler/framework/preemption/preemption.go and pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go.
import type { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import { millisOf } from "#schema/time.ts";
import { selectedBy } from "../affinity-term.ts";
import type { Attempt } from "../attempt.ts";
import type { Refusal } from "../framework.ts";
import type { NodeState } from "../node-state.ts";
import type { PodView } from "../pod-view.ts";

export interface Candidate {
  readonly node: NodeState;
  /** The most important first. */
  readonly victims: readonly PodView[];
  /** How many of them a disruption budget would spare. */
  readonly violations: number;
}

export const noVictims: Refusal = { reason: "No preemption victims found for incoming pod", stuck: true };

export const isLessImportant = ({ priority }: PodView, than: PodView): boolean => priority < than.priority;

/** The fewest pods that would have to go, or why that would not help. */
export function victimsOn(
  node: NodeState,
  attempt: Attempt,
  budgets: readonly PodDisruptionBudget[],
  now: number,
): Candidate | Refusal {
  const { pod } = attempt;
  const possible = [...node.pods.values()].filter((other) => isLessImportant(other, pod));
  if (possible.length === 0) return noVictims;
  const trial = attempt.trial(node);
  for (const other of possible) trial.remove(other);
  const refusal = trial.judge();
  if (refusal) return refusal;

  const byImportance = (a: PodView, b: PodView) => b.priority - a.priority || startOf(a, now) - startOf(b, now);
  possible.sort(byImportance);
  const { spared, free } = byBudget(possible, budgets);
  const mayStay = (other: PodView) => {
    trial.add(other);
    if (!trial.judge()) return true;
    trial.remove(other);
    return false;
  };
  const violating = spared.filter((other) => !mayStay(other));
  const others = free.filter((other) => !mayStay(other));
  // An extender refused the node, not a plugin: sending pods away is not known to help.
  if (violating.length + others.length === 0) return noVictims;
  return { node, victims: [...violating, ...others].sort(byImportance), violations: violating.length };
}

/** Those whose going a budget does not allow any more, and the others. */
function byBudget(pods: readonly PodView[], budgets: readonly PodDisruptionBudget[]) {
  const left = budgets.map(({ metadata, spec, status }) => ({
    namespace: metadata.namespace,
    selector: selectedBy(spec.selector),
    gone: status.disruptedPods ?? {},
    allowed: status.disruptionsAllowed ?? 0,
  }));
  const spared: PodView[] = [];
  const free: PodView[] = [];
  for (const pod of pods) {
    let isSpared = false;
    for (const budget of left) {
      const { namespace, selector, gone } = budget;
      if (namespace !== pod.namespace || selector.id === "" || Object.keys(pod.labels ?? {}).length === 0) continue;
      if (!selector.matches(pod.labels) || Object.hasOwn(gone, pod.name)) continue;
      if (--budget.allowed < 0) isSpared = true;
    }
    (isSpared ? spared : free).push(pod);
  }
  return { spared, free };
}

export const startOf = ({ pod }: PodView, now: number): number =>
  pod.status.startTime === undefined ? now : millisOf(pod.status.startTime);

/** Added to priorities, so that a few pods of negative priority are not worse than one. */
const aboveZero = 2 ** 31;

/** The node on which the least is lost; of equals the first. */
export function leastHarm(candidates: readonly Candidate[], now: number): Candidate | undefined {
  const harms: ((candidate: Candidate) => number)[] = [
    ({ violations }) => violations,
    ({ victims }) => victims[0]?.priority ?? 0,
    ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + aboveZero, 0),
    ({ victims }) => victims.length,
    ({ victims }) => -earliestOfHighest(victims, now),
  ];
  let best = candidates;
  for (const harm of harms) {
    if (best.length <= 1) break;
    const costs = best.map(harm);
    const least = costs.reduce((a, b) => Math.min(a, b));
    best = best.filter((_, i) => costs[i] === least);
  }
  return best[0];
}

function earliestOfHighest(victims: readonly PodView[], now: number): number {
  const highest = victims.reduce((most, { priority }) => Math.max(most, priority), -Infinity);
  return victims
    .filter(({ priority }) => priority === highest)
    .reduce((earliest, victim) => Math.min(earliest, startOf(victim, now)), Infinity);
}
