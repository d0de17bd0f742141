// Topology spread constraints, parsed once: those of a pod, and the default ones for pods without.
// Upstream: pkg/scheduler/framework/plugins/podtopologyspread/common.go.
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import type { TopologySpreadConstraint } from "#api/core/v1/affinity.ts";
import { ReplicationController } from "#api/core/v1/replication-controller.ts";
import { Service } from "#api/core/v1/service.ts";
import type { LabelSelector } from "#api/meta/label-selector.ts";
import type { CacheView } from "#client/controller.ts";
import { controllerOf } from "#rules/owners.ts";
import {
  formatRequirements,
  type Labels,
  labelMatcher,
  type Requirement,
  requirementsOf,
  requirementsOfLabels,
  SelectorError,
} from "#schema/selector.ts";
import { type PodSelection, selectedBy } from "../affinity-term.ts";
import type { PodCountQuery } from "../pod-counts.ts";
import type { PodView } from "../pod-view.ts";

export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly selector: PodSelection;
  readonly minDomains: number;
  /** Whether nodes the pod does not select are left out. */
  readonly heedsAffinity: boolean;
  /** Whether nodes with taints the pod does not tolerate are left out. */
  readonly heedsTaints: boolean;
  readonly counted: PodCountQuery;
}

export type WhenUnsatisfiable = TopologySpreadConstraint["whenUnsatisfiable"];

export const hostnameLabel = "kubernetes.io/hostname";

export const systemConstraints: readonly TopologySpreadConstraint[] = [
  { topologyKey: hostnameLabel, whenUnsatisfiable: "ScheduleAnyway", maxSkew: 3 },
  { topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "ScheduleAnyway", maxSkew: 5 },
];

export const workloadKinds = [Service, ReplicationController, ReplicaSet, StatefulSet] as const;

export const ownConstraints = (
  { pod, labels = {}, namespace }: PodView,
  when: WhenUnsatisfiable,
): readonly SpreadConstraint[] =>
  (pod.spec.topologySpreadConstraints ?? [])
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when)
    .map((constraint) =>
      spreadConstraint(
        constraint,
        namespace,
        selectorWith(constraint.labelSelector, constraint.matchLabelKeys, labels),
      ),
    );

/** The constraints of the profile, counting the pods that do the same work as this one. */
export function defaultConstraints(
  pod: PodView,
  constraints: readonly TopologySpreadConstraint[],
  when: WhenUnsatisfiable,
  cache: CacheView,
): readonly SpreadConstraint[] {
  const some = constraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when);
  if (some.length === 0) return [];
  const requirements = sameWork(pod, cache);
  if (requirements.length === 0) return [];
  const selector = { id: formatRequirements(requirements), matches: labelMatcher(requirements) };
  return some.map((constraint) => spreadConstraint(constraint, pod.namespace, selector));
}

function spreadConstraint(
  constraint: TopologySpreadConstraint,
  namespace: string,
  selector: PodSelection,
): SpreadConstraint {
  const { maxSkew, topologyKey, minDomains = 1, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
  return {
    maxSkew,
    topologyKey,
    selector,
    minDomains,
    heedsAffinity: (nodeAffinityPolicy ?? "Honor") === "Honor",
    heedsTaints: nodeTaintsPolicy === "Honor",
    counted: {
      id: `spread\n${namespace}\n${selector.id}`,
      namespaces: [namespace],
      // A selector that selects everything counts nothing, as upstream has it.
      matches: selector.id === "" ? () => false : selector.matches,
      endingToo: false,
    },
  };
}

/** The selector, and equality in the labels that are named by key. */
function selectorWith(selector: LabelSelector | undefined, keys: readonly string[] = [], labels: Labels): PodSelection {
  const values = Object.fromEntries(
    keys.filter((key) => Object.hasOwn(labels, key)).map((key) => [key, labels[key] ?? ""]),
  );
  if (selector === undefined || Object.keys(values).length === 0) return selectedBy(selector);
  const { matchExpressions = [], matchLabels } = selector;
  const more = Object.entries(values).map(([key, value]) => ({ key, operator: "In" as const, values: [value] }));
  return selectedBy({ ...(matchLabels && { matchLabels }), matchExpressions: [...matchExpressions, ...more] });
}

/** What services and the controller of the pod select it by. */
function sameWork(pod: PodView, cache: CacheView): readonly Requirement[] {
  let labels: Labels = {};
  for (const { spec } of cache.list(Service, pod.namespace))
    if (spec.selector && labelMatcher(requirementsOfLabels(spec.selector))(pod.labels))
      labels = { ...labels, ...spec.selector };
  const owner = controllerOf(pod.pod);
  const place = { namespace: pod.namespace, name: owner?.name ?? "" };
  switch (owner && `${owner.apiVersion} ${owner.kind}`) {
    case "v1 ReplicationController":
      labels = { ...labels, ...cache.get(ReplicationController, place)?.spec.selector };
      break;
    case "apps/v1 ReplicaSet":
      return [...requirementsOfLabels(labels), ...requirementsFrom(cache.get(ReplicaSet, place)?.spec.selector)];
    case "apps/v1 StatefulSet":
      return [...requirementsOfLabels(labels), ...requirementsFrom(cache.get(StatefulSet, place)?.spec.selector)];
  }
  return requirementsOfLabels(labels);
}

function requirementsFrom(selector: LabelSelector | undefined): readonly Requirement[] {
  try {
    return requirementsOf(selector ?? {});
  } catch (error) {
    if (error instanceof SelectorError) return [];
    throw error;
  }
}
