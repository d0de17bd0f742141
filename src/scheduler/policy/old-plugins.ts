// Plugins that only policies of old can ask for.
// Upstream: pkg/scheduler/framework/plugins/nodelabel/node_label.go, serviceaffinity/service_affinity.go and
// nodepreferavoidpods/node_prefer_avoid_pods.go, of v1.22.
import { Service } from "#api/core/v1/service.ts";
import { DecodeError, parseJson } from "#schema/json.ts";
import { type PluginContext, type Refusal, type SchedulerPlugin, schedulerPlugin } from "../framework.ts";
import type { NodeState } from "../node-state.ts";
import type { PluginEntry } from "../plugins/list.ts";
import { nodeResourcesFit, type ScoringStrategy, type ShapePoint } from "../plugins/node-resources-fit.ts";
import type { ResourceWeight } from "../plugins/scored-resource.ts";
import type { PodView } from "../pod-view.ts";

interface NodeLabelArgs {
  readonly presentLabels?: readonly string[];
  readonly absentLabels?: readonly string[];
  readonly presentLabelsPreference?: readonly string[];
  readonly absentLabelsPreference?: readonly string[];
}

const labelRefusal: Refusal = { reason: "node(s) didn't have the requested labels", stuck: true };

function nodeLabel({ presentLabels, absentLabels, presentLabelsPreference, absentLabelsPreference }: NodeLabelArgs) {
  const [mustHave, mustLack] = [presentLabels ?? [], absentLabels ?? []];
  const [likes, dislikes] = [presentLabelsPreference ?? [], absentLabelsPreference ?? []];
  const has =
    ({ labels }: NodeState) =>
    (name: string) =>
      Object.hasOwn(labels, name);
  return schedulerPlugin({
    name: "NodeLabel",
    wakes: [{ kind: "Node", on: ["add", "labels"] }],
    filter: (_pod, node) => (mustHave.every(has(node)) && !mustLack.some(has(node)) ? undefined : labelRefusal),
    score(_pod, node) {
      const wishes = likes.length + dislikes.length;
      const met = likes.filter(has(node)).length + dislikes.filter((name) => !has(node)(name)).length;
      return wishes === 0 ? 0 : Math.trunc((met * 100) / wishes);
    },
  });
}

interface ServiceAffinityArgs {
  readonly affinityLabels?: readonly string[];
  readonly antiAffinityLabelsPreference?: readonly string[];
}

const serviceRefusal: Refusal = { reason: "node(s) didn't match service affinity", stuck: false };

function serviceAffinity(args: ServiceAffinityArgs, { cache, snapshot }: PluginContext) {
  const { affinityLabels = [], antiAffinityLabelsPreference: spread = [] } = args;
  const servicesOf = (pod: PodView) =>
    cache.list(Service).filter(({ metadata, spec }) => {
      const selector = Object.entries(spec.selector ?? {});
      return metadata.namespace === pod.namespace && selector.length > 0 && hasAll(pod, selector);
    });
  return schedulerPlugin({
    name: "ServiceAffinity",
    reads: [Service],
    wakes: [
      { kind: "Pod", on: ["add", "labels", "delete"] },
      { kind: "Node", on: ["add", "labels"] },
    ],
    preFilter(pod) {
      if (affinityLabels.length === 0) return undefined;
      const wanted = new Map<string, string>();
      for (const label of affinityLabels) {
        const value = pod.pod.spec.nodeSelector?.[label];
        if (value !== undefined) wanted.set(label, value);
      }
      // What the pod does not say itself, the first of its like does by where it is.
      const like = Object.entries(pod.labels ?? {});
      const first =
        wanted.size < affinityLabels.length && servicesOf(pod).length > 0
          ? snapshot.nodes.find(({ pods }) =>
              [...pods.values()].some(
                (other) => other.namespace === pod.namespace && !other.isEnding && hasAll(other, like),
              ),
            )
          : undefined;
      for (const label of affinityLabels) {
        const value = first?.labels[label];
        if (value !== undefined && !wanted.has(label)) wanted.set(label, value);
      }
      return { state: wanted };
    },
    filter: (_pod, { labels }, wanted: ReadonlyMap<string, string>) =>
      [...wanted].every(([label, value]) => labels[label] === value) ? undefined : serviceRefusal,

    preScore(pod) {
      const selector = servicesOf(pod)[0]?.spec.selector;
      return { state: selector ? Object.entries(selector) : undefined };
    },
    score(pod, { pods }, selector: readonly (readonly [string, string])[] | undefined) {
      if (!selector) return 0;
      return [...pods.values()].filter(
        (other) => other.namespace === pod.namespace && !other.isEnding && hasAll(other, selector),
      ).length;
    },
    normalize: (scores, nodes) => spreadScores(scores, nodes, spread),
  });
}

/** The fewer pods share the value of a label with a node, the better the node is. */
function spreadScores(scores: Float64Array, nodes: readonly NodeState[], spread: readonly string[]): void {
  const counts = Float64Array.from(nodes, (_, i) => scores[i] ?? 0);
  scores.fill(0, 0, nodes.length);
  const total = counts.reduce((sum, count) => sum + count, 0);
  for (const label of spread) {
    const perValue = new Map<string, number>();
    for (const [i, { labels }] of nodes.entries()) {
      const value = labels[label];
      if (value !== undefined) perValue.set(value, (perValue.get(value) ?? 0) + (counts[i] ?? 0));
    }
    for (const [i, { labels }] of nodes.entries()) {
      const value = labels[label];
      if (value === undefined) continue;
      const share = total > 0 ? (100 * (total - (perValue.get(value) ?? 0))) / total : 100;
      scores[i] = (scores[i] ?? 0) + share / spread.length;
    }
  }
  for (let i = 0; i < nodes.length; i++) scores[i] = Math.trunc(scores[i] ?? 0);
}

const hasAll = ({ labels }: PodView, selector: readonly (readonly [string, string])[]): boolean =>
  selector.every(([name, value]) => labels?.[name] === value);

const avoidAnnotation = "scheduler.alpha.kubernetes.io/preferAvoidPods";

/** Nodes may say which controllers' pods are better not sent to them. */
const nodePreferAvoidPods = schedulerPlugin({
  name: "NodePreferAvoidPods",
  score({ pod }, { node }) {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller);
    if (!owner || (owner.kind !== "ReplicationController" && owner.kind !== "ReplicaSet")) return 100;
    const { kind, uid } = owner;
    const isAvoided = avoidedBy(node.metadata.annotations?.[avoidAnnotation]).some(
      (one) => one?.kind === kind && one.uid === uid,
    );
    return isAvoided ? 0 : 100;
  },
});

interface AvoidPods {
  readonly preferAvoidPods?: readonly {
    readonly podSignature?: { readonly podController?: { readonly kind?: string; readonly uid?: string } };
  }[];
}

function avoidedBy(annotation: string | undefined) {
  if (annotation === undefined) return [];
  try {
    const { preferAvoidPods } = parseJson(annotation).value as AvoidPods; // what is not there is asked for below
    return Array.isArray(preferAvoidPods) ? preferAvoidPods.map((one) => one?.podSignature?.podController) : [];
  } catch (error) {
    if (error instanceof DecodeError) return []; // as if it were not there: upstream cannot read it, either
    throw error;
  }
}

/** How much of a node is left, by one of the ways, as a plugin that only scores. */
function resourceScores(name: string, scoringStrategy: ScoringStrategy, context: PluginContext): SchedulerPlugin {
  const { preScore, score, normalize } = nodeResourcesFit({ scoringStrategy }, context);
  return { name, ...(preScore && { preScore }), ...(score && { score }), ...(normalize && { normalize }) };
}

interface RatioArgs {
  readonly shape: readonly ShapePoint[];
  readonly resources?: readonly ResourceWeight[];
}

const optional = true;
export const oldPlugins: readonly PluginEntry[] = [
  { name: "NodeLabel", optional, make: nodeLabel },
  { name: "ServiceAffinity", optional, make: serviceAffinity },
  { name: "NodePreferAvoidPods", optional, make: () => nodePreferAvoidPods },
  {
    name: "NodeResourcesLeastAllocated",
    optional,
    make: (_args, context) => resourceScores("NodeResourcesLeastAllocated", { type: "LeastAllocated" }, context),
  },
  {
    name: "NodeResourcesMostAllocated",
    optional,
    make: (_args, context) => resourceScores("NodeResourcesMostAllocated", { type: "MostAllocated" }, context),
  },
  {
    name: "RequestedToCapacityRatio",
    optional,
    make({ shape, resources }: RatioArgs, context) {
      const type = "RequestedToCapacityRatio";
      const strategy = { type, requestedToCapacityRatio: { shape }, ...(resources && { resources }) } as const;
      return resourceScores(type, strategy, context);
    },
  },
];
