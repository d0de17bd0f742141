// Pods found by their labels, without looking at pods that lack them.
import { Pod } from "#api/core/v1/pod.ts";
import { index } from "#client/cache.ts";
import type { CacheView } from "#client/controller.ts";
import { type Labels, type SelectorStruct, selectorMatcher } from "#schema/selector.ts";

export const labelPair = (namespace: string | undefined, key: string, value: string): string =>
  `${namespace}/${key}=${value}`;

const podsByLabel = index(Pod, ({ metadata: { namespace, labels = {} } }) =>
  Object.entries(labels).map(([key, value]) => labelPair(namespace, key, value)),
);

/** The pods of a namespace with all these labels, found by the rarest of them. */
export function podsWithLabels(namespace: string | undefined, labels: Labels, cache: CacheView): readonly Pod[] {
  const wanted = Object.entries(labels).map(([key, value]) => labelPair(namespace, key, value));
  const counts = wanted.map((one) => cache.count(podsByLabel, one));
  const rarest = wanted[counts.indexOf(Math.min(...counts))];
  if (rarest === undefined) return cache.list(Pod, namespace ?? "");
  const candidates = cache.by(podsByLabel, rarest);
  return wanted.length === 1 ? candidates : candidates.filter((pod) => hasLabels(pod.metadata.labels, labels));
}

/** The pods of a namespace that a selector matches: no selector matches none, an empty one all. */
export function podsSelected(
  namespace: string | undefined,
  selector: SelectorStruct | undefined,
  cache: CacheView,
): readonly Pod[] {
  if (!selector) return [];
  const candidates = podsWithLabels(namespace, selector.matchLabels ?? {}, cache);
  if (!selector.matchExpressions?.length) return candidates;
  const isSelected = selectorMatcher(selector);
  return candidates.filter(({ metadata }) => isSelected(metadata.labels));
}

export const hasLabels = (labels: Labels = {}, wanted: Labels): boolean =>
  Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
