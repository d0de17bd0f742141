// Upstream: pkg/scheduler/framework/plugins/podtopologyspread/plugin.go.
import type { TopologySpreadConstraint } from "#api/core/v1/affinity.ts";
import type { Node } from "#api/core/v1/node.ts";
import { equal } from "#base/collections.ts";
import { requiredNodes, requiredNodesId } from "#rules/node-selection.ts";
import { isTolerated } from "#rules/tolerations.ts";
import { type ObjectChange, type PluginContext, type Refusal, schedulerPlugin } from "../framework.ts";
import type { NodeState } from "../node-state.ts";
import type { PodView } from "../pod-view.ts";
import type { Snapshot } from "../snapshot.ts";
import { Spread } from "./spread.ts";
import {
  defaultConstraints,
  hostnameLabel,
  ownConstraints,
  type SpreadConstraint,
  systemConstraints,
  type WhenUnsatisfiable,
  workloadKinds,
} from "./spread-constraint.ts";

export interface PodTopologySpreadArgs {
  readonly defaultConstraints?: readonly TopologySpreadConstraint[];
  /** System: its own defaults, rather than those of `defaultConstraints`. */
  readonly defaultingType?: "System" | "List";
}

const uneven: Refusal = { reason: "node(s) didn't match pod topology spread constraints", stuck: false };
const unlabelled: Refusal = {
  reason: "node(s) didn't match pod topology spread constraints (missing required label)",
  stuck: true,
};

interface SpreadScores {
  readonly constraints: readonly {
    readonly spread: Spread;
    readonly weight: number;
    readonly constraint: SpreadConstraint;
  }[];
  /** Whether a node without one of the labels gets nothing at all. */
  readonly needsAll: boolean;
}

/** Keeps pods alike evenly spread over places: where it must be, by refusing; where it should be, by preferring. */
export function podTopologySpread(args: PodTopologySpreadArgs, { cache }: PluginContext) {
  const isSystem = (args.defaultingType ?? "System") === "System";
  const defaults = isSystem ? systemConstraints : (args.defaultConstraints ?? []);
  const constraintsOf = (pod: PodView, when: WhenUnsatisfiable) =>
    (pod.pod.spec.topologySpreadConstraints ?? []).length > 0
      ? ownConstraints(pod, when)
      : defaultConstraints(pod, defaults, when, cache);

  return schedulerPlugin({
    name: "PodTopologySpread",
    reads: defaults.length > 0 ? workloadKinds : [],
    wakes: [
      {
        kind: "Pod",
        on: ["add", "labels", "tolerations", "delete"],
        cures: (pod, change) => podHelps(pod, change, constraintsOf(pod, "DoNotSchedule")),
      },
      {
        kind: "Node",
        on: ["add", "delete", "labels", "taints"],
        cures: (pod, change) => nodeHelps(change, constraintsOf(pod, "DoNotSchedule")),
      },
    ],

    preFilter(pod, snapshot) {
      const constraints = constraintsOf(pod, "DoNotSchedule");
      if (constraints.length === 0) return undefined;
      return { state: spreadsOf(pod, constraints, snapshot, true) };
    },
    filter(_pod, node, spreads: readonly Spread[]) {
      for (const spread of spreads) {
        if (!spread.has(node)) return unlabelled;
        const { maxSkew, minDomains } = spread.constraint;
        if (spread.at(node) + spread.self - spread.least(minDomains) > maxSkew) return uneven;
      }
      return undefined;
    },

    whatIf: {
      copy: (spreads) => spreads.map((spread) => spread.copy()),
      add: (spreads, other, node, pod) => moved(spreads, other, node, pod, 1),
      remove: (spreads, other, node, pod) => moved(spreads, other, node, pod, -1),
    },

    preScore(pod, nodes, snapshot) {
      const constraints = constraintsOf(pod, "ScheduleAnyway");
      if (constraints.length === 0) return undefined;
      // Nodes without a label for zones can still be told apart by name, unless someone has asked for more.
      const needsAll = (pod.pod.spec.topologySpreadConstraints ?? []).length > 0 || !isSystem;
      const spreads = spreadsOf(pod, constraints, snapshot, needsAll);
      const scored = needsAll ? nodes.filter((node) => spreads.every((spread) => spread.has(node))) : nodes;
      return {
        state: {
          needsAll,
          constraints: spreads.map((spread) => ({
            spread,
            constraint: spread.constraint,
            weight: weightOf(spread, scored),
          })),
        },
      };
    },
    score(_pod, node, { constraints, needsAll }: SpreadScores) {
      if (needsAll && !constraints.every(({ spread }) => spread.has(node))) return 0;
      let score = 0;
      for (const { spread, weight, constraint } of constraints) {
        if (!spread.has(node)) continue;
        const count = constraint.topologyKey === hostnameLabel ? spread.on(node) : spread.at(node);
        score += count * weight + constraint.maxSkew - 1;
      }
      return Math.round(score);
    },
    normalize(scores, nodes, { constraints, needsAll }) {
      const isLeftOut = (node: NodeState) => needsAll && !constraints.every(({ spread }) => spread.has(node));
      let [least, most] = [Infinity, 0];
      for (const [i, node] of nodes.entries()) {
        if (isLeftOut(node)) continue;
        least = Math.min(least, scores[i] as number);
        most = Math.max(most, scores[i] as number);
      }
      for (const [i, node] of nodes.entries()) {
        if (isLeftOut(node)) scores[i] = 0;
        else scores[i] = most === 0 ? 100 : Math.trunc((100 * (most + least - (scores[i] as number))) / most);
      }
    },
  });
}

/** More places, more weight: otherwise many small places would drown in few large ones. */
function weightOf(spread: Spread, nodes: readonly NodeState[]): number {
  const places = spread.constraint.topologyKey === hostnameLabel ? nodes.length : spread.placesOf(nodes);
  return Math.log(places + 2);
}

function spreadsOf(
  pod: PodView,
  constraints: readonly SpreadConstraint[],
  snapshot: Snapshot,
  needsAll: boolean,
): readonly Spread[] {
  const spreads = constraints.map(
    (constraint) =>
      new Spread(constraint, snapshot.topology(constraint.topologyKey), {
        perNode: snapshot.count(constraint.counted).values,
        self: constraint.selector.matches(pod.labels) ? 1 : 0,
      }),
  );
  const id = requiredNodesId(pod.pod.spec);
  const selected =
    id === undefined ? undefined : snapshot.selection(id, () => requiredNodes(pod.pod.spec) ?? (() => true));
  const selects = selected && ((node: NodeState) => selected.has(node));
  for (const spread of spreads) {
    const { heedsAffinity, heedsTaints } = spread.constraint;
    const others = needsAll ? spreads.filter((other) => other !== spread) : [];
    if ((heedsAffinity && selects) || heedsTaints)
      for (const node of snapshot.nodes) {
        if (isIncluded(spread.constraint, pod, node, selects) && others.every((one) => one.has(node)))
          spread.include(node);
      }
    else spread.includeAll(others);
  }
  return spreads;
}

function isIncluded(
  { heedsAffinity, heedsTaints }: SpreadConstraint,
  { pod }: PodView,
  node: NodeState,
  selects: ((node: NodeState) => boolean) | undefined,
): boolean {
  if (heedsAffinity && selects && !selects(node)) return false;
  return !heedsTaints || node.hardTaints.every((taint) => isTolerated(taint, pod.spec.tolerations ?? []));
}

function moved(spreads: readonly Spread[], other: PodView, node: NodeState, pod: PodView, by: 1 | -1): void {
  if (other.isEnding || other.namespace !== pod.namespace) return;
  if (!spreads.every((spread) => spread.has(node))) return;
  const selects = requiredNodes(pod.pod.spec);
  for (const spread of spreads)
    if (spread.constraint.selector.matches(other.labels) && isIncluded(spread.constraint, pod, node, selects))
      spread.add(node, by);
}

/** Whether a pod that came, went or got other labels changes how even it is where this one is counted. */
function podHelps(
  pod: PodView,
  { old, now }: ObjectChange<PodView>,
  constraints: readonly SpreadConstraint[],
): boolean {
  const isItself = now?.uid === pod.uid;
  if (!isItself && (now ?? old)?.namespace !== pod.namespace) return false;
  if (isItself && constraints.some(({ heedsTaints }) => heedsTaints)) return true;
  const counts = ({ selector }: SpreadConstraint, other: PodView | undefined) =>
    other !== undefined && selector.matches(other.labels);
  return constraints.some((constraint) => counts(constraint, old) !== counts(constraint, now));
}

function nodeHelps({ old, now }: ObjectChange<Node>, constraints: readonly SpreadConstraint[]): boolean {
  const value = (node: Node | undefined, key: string) => node?.metadata.labels?.[key];
  const isPlace = (node: Node | undefined) =>
    node !== undefined && constraints.every(({ topologyKey }) => value(node, topologyKey) !== undefined);
  if (isPlace(old) !== isPlace(now)) return true;
  if (!old || !now || !isPlace(now)) return false;
  const hasMoved = constraints.some(({ topologyKey }) => value(old, topologyKey) !== value(now, topologyKey));
  return hasMoved || !equal(old.spec.taints ?? [], now.spec.taints ?? []);
}
