// Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go.
import { Pod } from "#api/core/v1/pod.ts";
import { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import { inBatches } from "#base/collections.ts";
import { isNotFound } from "#base/errors.ts";
import { timeOf } from "#schema/time.ts";
import type { Attempt } from "../attempt.ts";
import {
  type BindingContext,
  type PluginContext,
  type PostFiltered,
  type Refusal,
  schedulerPlugin,
} from "../framework.ts";
import type { NodeState } from "../node-state.ts";
import type { PodView } from "../pod-view.ts";
import { type Candidate, isLessImportant, leastHarm, noVictims, victimsOn } from "./victims.ts";

export interface DefaultPreemptionArgs {
  /** How many of the nodes that might be cleared are tried, in percent, and at least. */
  readonly minCandidateNodesPercentage?: number;
  readonly minCandidateNodesAbsolute?: number;
}

const atOnce = 16;

/** When no node has room for a pod, makes some by sending less important pods away. */
export function defaultPreemption(args: DefaultPreemptionArgs, context: PluginContext) {
  const { minCandidateNodesPercentage: percentage = 10, minCandidateNodesAbsolute: least = 100 } = args;
  const { snapshot, cache, random, clock } = context;
  /** Pods for which others are being sent away, and which others. */
  const making = new Map<string, readonly PodView[]>();
  const isWaiting = ({ uid }: PodView) => making.get(uid)?.some((victim) => isThere(victim, context)) === true;

  function candidatesOn(nodes: readonly NodeState[], attempt: Attempt) {
    const wanted = Math.min(nodes.length, Math.max(Math.trunc((nodes.length * percentage) / 100), least));
    const budgets = cache.list(PodDisruptionBudget);
    const offset = random.below(nodes.length);
    const candidates: Candidate[] = [];
    const refusals: Refusal[] = [];
    const now = clock.now();
    for (let i = 0; i < nodes.length; i++) {
      const result = victimsOn(nodes[(offset + i) % nodes.length] as NodeState, attempt, budgets, now);
      if ("reason" in result) refusals.push(result);
      else candidates.push(result);
      if (candidates.length >= wanted && candidates.some(({ violations }) => violations === 0)) break;
    }
    const kept = [
      ...candidates.filter((one) => one.violations === 0),
      ...candidates.filter((one) => one.violations > 0),
    ];
    return { candidates: kept, refusals };
  }

  function preempt(pod: PodView, { node, victims }: Candidate): void {
    for (const other of context.nominated(node.name)) if (isLessImportant(other, pod)) giveUp(other);
    const staying = victims.filter(({ isEnding }) => !isEnding);
    if (staying.length === 0) return;
    context.metrics.observe("scheduler_preemption_victims", {}, victims.length);
    making.set(pod.uid, staying);
    context.act(pod, "send pods away", async (binding) => {
      try {
        await inBatches(atOnce, staying, (victim) => sendAway(victim, pod, node, binding));
      } catch (error) {
        making.delete(pod.uid);
        context.retry(pod); // some may be gone; whether that is enough will be seen
        throw error;
      }
    });
  }

  function giveUp(other: PodView): void {
    context.unnominate(other);
    if (!other.pod.status.nominatedNodeName) return;
    const { namespace, name, uid } = other;
    const patch = { metadata: { uid }, status: { nominatedNodeName: null } };
    context.act(other, "take back a nomination", async ({ client }) => {
      await client.patch(Pod, { namespace, name }, "strategic", patch, { subresource: "status" });
    });
  }

  return schedulerPlugin({
    name: "DefaultPreemption",
    reads: [PodDisruptionBudget],
    wakes: [{ kind: "Pod", on: ["update", "delete"] }],

    preEnqueue(pod) {
      if (isWaiting(pod)) return { reason: "waiting for the preemption for this pod to be finished", stuck: true };
      making.delete(pod.uid);
      return undefined;
    },

    postFilter(pod, attempt) {
      context.metrics.count("scheduler_preemption_attempts_total", {});
      const why = whyNot(pod, attempt);
      if (why) return { message: `preemption: ${why}` };
      const nodes = clearable(attempt);
      const hopeless = nodes.length === 0 || !snapshot.hasLower(pod.priority);
      const { candidates, refusals } = hopeless
        ? { candidates: [], refusals: nodes.map(() => noVictims) }
        : candidatesOn(nodes, attempt);
      const choose = (left: readonly Candidate[]): PostFiltered => {
        const best = leastHarm(left, clock.now());
        if (!best) return unhelpful(snapshot.nodes.length, refusals);
        preempt(pod, best);
        return { nominate: best.node.name, message: "" };
      };
      return context.extendPreemption?.(pod, candidates)?.then(choose) ?? choose(candidates);
    },
  });
}

/** Nodes that were refused for reasons that pods may take with them. */
function clearable({ verdicts, veto, snapshot }: Attempt): readonly NodeState[] {
  if (veto) return veto.refusal.stuck ? [] : snapshot.nodes;
  const nodes: NodeState[] = [];
  for (let at = 0; at < verdicts.size; at++) if (!verdicts.refusal(at).stuck) nodes.push(verdicts.node(at));
  return nodes;
}

function whyNot(pod: PodView, { nominated, verdicts, snapshot }: Attempt): string | undefined {
  if (pod.pod.spec.preemptionPolicy === "Never") return "not eligible due to preemptionPolicy=Never.";
  if (nominated === undefined) return undefined;
  for (let at = 0; at < verdicts.size; at++)
    if (verdicts.node(at).name === nominated && verdicts.refusal(at).stuck) return undefined;
  for (const other of snapshot.node(nominated)?.pods.values() ?? [])
    if (isLessImportant(other, pod) && isBeingSentAway(other))
      return "not eligible due to a terminating pod on the nominated node.";
  return undefined;
}

const isBeingSentAway = ({ pod, isEnding }: PodView): boolean =>
  isEnding &&
  (pod.status.conditions ?? []).some(
    ({ type, status, reason }) =>
      type === "DisruptionTarget" && status === "True" && reason === "PreemptionByScheduler",
  );

function unhelpful(nodes: number, refusals: readonly Refusal[]): PostFiltered {
  const counts = new Map<string, number>();
  const count = (reason: string, by: number) => counts.set(reason, (counts.get(reason) ?? 0) + by);
  for (const { reason, also = [] } of refusals) for (const one of [reason, ...also]) count(one, 1);
  if (refusals.length < nodes) count("Preemption is not helpful for scheduling", nodes - refusals.length);
  const reasons = [...counts].map(([reason, times]) => `${times} ${reason}`).toSorted();
  return { nominate: "", message: `preemption: 0/${nodes} nodes are available: ${reasons.join(", ")}.` };
}

/** Whether the pod is still on its node and not being deleted. */
function isThere({ uid }: PodView, { snapshot }: PluginContext): boolean {
  const placed = snapshot.placed(uid);
  return placed !== undefined && !placed.pod.isEnding;
}

async function sendAway(victim: PodView, pod: PodView, node: NodeState, { client, clock, event }: BindingContext) {
  const { namespace, name, uid } = victim;
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "PreemptionByScheduler",
    message: `${pod.pod.spec.schedulerName}: preempting to accommodate a higher priority pod`,
    observedGeneration: victim.pod.metadata.generation,
    lastTransitionTime: timeOf(clock.now()),
  };
  try {
    const patch = { metadata: { uid }, status: { conditions: [condition] } };
    await client.patch(Pod, { namespace, name }, "strategic", patch, { subresource: "status" });
    await client.delete(Pod, { namespace, name }, { preconditions: { uid } });
  } catch (error) {
    if (isNotFound(error)) return; // gone already
    throw error;
  }
  event("Normal", "Preempted", `Preempted by pod ${pod.uid} on node ${node.name}`, victim.pod);
}
