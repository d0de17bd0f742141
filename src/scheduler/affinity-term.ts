// A pod (anti-)affinity term, parsed once: the pods that it selects, and its topology key.
import type { PodAffinityTerm } from "#api/core/v1/affinity.ts";
import type { LabelSelector } from "#api/meta/label-selector.ts";
import { formatRequirements, type Labels, labelMatcher, requirementsOf, SelectorError } from "#schema/selector.ts";

export type Matcher = (labels: Labels | undefined) => boolean;

/** A compiled selector, with an id that is the same for equal selectors. */
export interface PodSelection {
  readonly id: string;
  readonly matches: Matcher;
}

export interface AffinityTerm {
  /** Terms with the same id mean the same. */
  readonly id: string;
  /** Namespaces by name. */
  readonly namespaces: ReadonlySet<string>;
  /** More namespaces, by their labels; all of them if the id is empty. */
  readonly moreNamespaces: PodSelection | undefined;
  readonly selector: PodSelection;
  readonly topologyKey: string;
}

export interface WeightedTerm {
  readonly term: AffinityTerm;
  readonly weight: number;
}

const nothing: PodSelection = { id: "!", matches: () => false };

/** A missing or invalid selector selects nothing. */
export function selectedBy(selector: LabelSelector | undefined): PodSelection {
  if (selector === undefined) return nothing;
  try {
    const requirements = requirementsOf(selector);
    return { id: formatRequirements(requirements), matches: labelMatcher(requirements) };
  } catch (error) {
    if (error instanceof SelectorError) return nothing;
    throw error;
  }
}

export function affinityTerm(term: PodAffinityTerm, namespace: string): AffinityTerm {
  const { namespaces = [], namespaceSelector, topologyKey } = term;
  const isOwn = namespaces.length === 0 && namespaceSelector === undefined;
  const names = isOwn ? [namespace] : namespaces.toSorted();
  const selector = selectedBy(term.labelSelector);
  const places = namespaceSelector && selectedBy(namespaceSelector);
  return {
    id: [topologyKey, names.join(","), places?.id ?? "!", selector.id].join("\n"),
    namespaces: new Set(names),
    moreNamespaces: places,
    selector,
    topologyKey,
  };
}

/** Whether a term selects a pod with these labels in a namespace with those labels. */
export const concerns = (
  { namespaces, moreNamespaces, selector }: AffinityTerm,
  pod: { readonly namespace: string; readonly labels: Labels | undefined },
  labelsOfNamespace: Labels | undefined,
): boolean =>
  (namespaces.has(pod.namespace) || moreNamespaces?.matches(labelsOfNamespace) === true) &&
  selector.matches(pod.labels);
