// The pods that an affinity term selects, with its namespace selector resolved to namespaces.
// Upstream: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.
import { Namespace } from "#api/core/v1/namespace.ts";
import type { CacheView } from "#client/controller.ts";
import type { AffinityTerm } from "../affinity-term.ts";
import type { PodCountQuery } from "../pod-counts.ts";
import type { PodView } from "../pod-view.ts";

export interface MeantPods extends PodCountQuery {
  readonly term: AffinityTerm;
  means(pod: PodView): boolean;
}

export function meantPods(term: AffinityTerm, cache: CacheView): MeantPods {
  const { selector } = term;
  const namespaces = namespacesOf(term, cache);
  const where = namespaces === "all" ? "*" : namespaces.join(",");
  const isThere = namespaces === "all" ? () => true : inList(namespaces);
  return {
    term,
    namespaces,
    id: `${where}\n${selector.id}`,
    matches: selector.matches,
    endingToo: true,
    means: ({ namespace, labels }) => isThere(namespace) && selector.matches(labels),
  };
}

/** The pods that all of the terms mean. */
export function countedByAll(meant: readonly MeantPods[]): PodCountQuery {
  const [only] = meant;
  if (only && meant.length === 1) return only;
  const named = meant.flatMap(({ namespaces }) => (namespaces === "all" ? [] : [new Set(namespaces)]));
  const [first, ...others] = named;
  return {
    id: meant.map(({ id }) => id).join("\n&\n"),
    namespaces: first ? [...others.reduce((a, b) => a.intersection(b), first)] : "all",
    matches: (labels) => meant.every(({ matches }) => matches(labels)),
    endingToo: true,
  };
}

const inList = (namespaces: readonly string[]) => {
  const names = new Set(namespaces);
  return (namespace: string) => names.has(namespace);
};

function namespacesOf({ namespaces, moreNamespaces }: AffinityTerm, cache: CacheView): readonly string[] | "all" {
  if (!moreNamespaces) return [...namespaces];
  if (moreNamespaces.id === "") return "all";
  const selected = cache.list(Namespace).filter(({ metadata }) => moreNamespaces.matches(metadata.labels));
  return [...new Set([...namespaces, ...selected.map(({ metadata }) => metadata.name)])].toSorted();
}
