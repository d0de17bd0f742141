// Upstream: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go.
import type { NodeAffinity } from "#api/core/v1/affinity.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { NodeMatcher, Selectable } from "#rules/node-selection.ts";
import { nodePreference, nodeSelector, requiredNodes, requiredNodesId, selectable } from "#rules/node-selection.ts";
import { type Refusal, schedulerPlugin } from "../framework.ts";
import type { NodeSelection } from "../node-selection.ts";
import { proportional } from "./normalize.ts";

export interface NodeAffinityArgs {
  /** Holds for all pods of the profile, besides what they say themselves. */
  readonly addedAffinity?: NodeAffinity | undefined;
}

const unwanted: Refusal = { reason: "node(s) didn't match Pod's node affinity/selector", stuck: true };
const unwantedHere: Refusal = { reason: "node(s) didn't match scheduler-enforced node affinity", stuck: true };
const conflict: Refusal = { reason: "pod affinity terms conflict", stuck: true };
const anyNode: NodeMatcher = () => true;

/** Puts pods only on the nodes they select, and rather on those they prefer. */
export function nodeAffinity({ addedAffinity }: NodeAffinityArgs) {
  const required = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const preferred = addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const added = required && nodeSelector(required);
  const addedPreference = preferred.length > 0 ? nodePreference(preferred) : undefined;

  return schedulerPlugin({
    name: "NodeAffinity",
    wakes: [
      {
        kind: "Node",
        on: ["add", "labels"],
        cures({ pod }, { old, now }) {
          const matches = requiredNodes(pod.spec) ?? anyNode;
          const suits = (node: Selectable) => matches(node) && (added?.(node) ?? true);
          return now !== undefined && suits(selectable(now)) && (!old || !suits(selectable(old)));
        },
      },
    ],

    preFilter({ pod }, snapshot) {
      const id = requiredNodesId(pod.spec);
      if (id === undefined && !added) return undefined;
      const names = namedNodes(pod);
      if (names?.size === 0) return conflict;
      const state = snapshot.selection(id ?? "", () => requiredNodes(pod.spec) ?? anyNode);
      return { state, ...(names && { only: names }) };
    },
    filter(_pod, node, selection: NodeSelection) {
      if (added?.(node) === false) return unwantedHere;
      return selection.has(node) ? undefined : unwanted;
    },

    preScore({ pod }) {
      const wishes = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
      return wishes || addedPreference ? { state: nodePreference(wishes) } : undefined;
    },
    score: (_pod, node, preference: (node: Selectable) => number) => preference(node) + (addedPreference?.(node) ?? 0),
    normalize: proportional,
  });
}

/** The nodes a pod selects by name, if it can be on no others: one pod of a DaemonSet need not be tried everywhere. */
function namedNodes({ spec }: Pod): ReadonlySet<string> | undefined {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  let names: Set<string> | undefined;
  for (const { matchFields = [] } of terms) {
    const sets = matchFields
      .filter(({ key, operator }) => key === "metadata.name" && operator === "In")
      .map(({ values = [] }) => new Set(values));
    if (sets.length === 0) return undefined;
    const all = sets.reduce((a, b) => a.intersection(b));
    names = names ? names.union(all) : all;
  }
  return names;
}
